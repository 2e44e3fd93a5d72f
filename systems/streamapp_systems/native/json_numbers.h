/* Numbers of JSON, and texts of times, as values; NULL or false stands for what another reader should judge. */
#ifndef JSON_NUMBERS_H
#define JSON_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wide_integers.h"

enum { FIRST_POWER = -342, LAST_POWER = 308 };

/* A number: its digits without the point, and the power of ten that they are multiplied by. Not `exact`: it has more
   digits than fit. */
struct json_number {
    const uint8_t *begin;
    size_t length;
    uint64_t digits;
    int32_t power;
    bool negative, exact;
};

/* The 128 leading bits of 5 ^ n, high and low, for n from FIRST_POWER to LAST_POWER: rounded up from
   -27 to -1, else down. */
typedef uint64_t json_power[2];

const uint8_t *json_skip_number(const uint8_t *at, const uint8_t *end);
const uint8_t *json_scan_number(const uint8_t *at, const uint8_t *end, struct json_number *number);

/* Round a number to the nearest double or float, ties to even; false if it is too large, or has too many digits. */
bool json_to_double(const struct json_number *number, const json_power *powers, double *value);
bool json_to_float(const struct json_number *number, const json_power *powers, float *value);

/* Read all of a text as a decimal that has at most so many digits before and behind its point. */
bool json_to_decimal(const uint8_t *at, size_t length, int32_t precision, int32_t scale, int128_t *value);

/* Read all of a text, YYYY-MM-DD, as days since 1970. */
bool json_to_date(const uint8_t *at, size_t length, int32_t *days);

/* Read all of a text, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss.f (or a space), as microseconds since 1970, rounded down;
   `zoned` if it may end in a zone, else it is UTC. */
bool json_to_timestamp(const uint8_t *at, size_t length, bool zoned, int64_t *micros);

static inline bool json_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

/* Step over a whole number that fits, without a point or an exponent. */
static inline const uint8_t *json_scan_integer(const uint8_t *at, const uint8_t *end, int64_t *value)
{
    bool negative = at < end && *at == '-';
    const uint8_t *first = at += negative;
    uint64_t digits = 0;
    while (at < end && json_is_digit(*at))
        digits = digits * 10 + (uint64_t)(*at++ - '0');
    ptrdiff_t count = at - first;
    if (count == 0 || count > 19 || (count > 1 && *first == '0') || digits > (uint64_t)INT64_MAX + negative)
        return NULL;
    *value = (int64_t)(negative ? 0 - digits : digits);
    return at;
}

#endif
