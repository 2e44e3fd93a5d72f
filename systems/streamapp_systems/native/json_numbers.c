#define _GNU_SOURCE
#include "json_numbers.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 120, MOST_DIGITS = 19, FARTHEST = 100000 };

const uint8_t *json_scan_number(const uint8_t *at, const uint8_t *end, struct json_number *number)
{
    uint64_t digits = 0;
    int32_t power = 0;
    number->begin = at;
    number->negative = at < end && *at == '-';
    const uint8_t *first = at += number->negative;
    while (at < end && json_is_digit(*at))
        digits = digits * 10 + (uint64_t)(*at++ - '0');
    ptrdiff_t count = at - first;
    if (count == 0 || (count > 1 && *first == '0'))
        return NULL;
    if (at < end && *at == '.') {
        const uint8_t *point = at++;
        while (at < end && json_is_digit(*at))
            digits = digits * 10 + (uint64_t)(*at++ - '0');
        ptrdiff_t behind = at - point - 1;
        if (behind == 0)
            return NULL;
        if (behind > FARTHEST)
            return NULL;
        power = -(int32_t)behind;
        count += behind;
    }
    number->exact = count <= MOST_DIGITS;
    if (!number->exact) {
        for (; count && (*first == '0' || *first == '.'); first++)
            count -= *first == '0';
        number->exact = count <= MOST_DIGITS;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        bool below = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        const uint8_t *exponent = at;
        int32_t written = 0;
        for (; at < end && json_is_digit(*at); at++)
            written = written < FARTHEST ? written * 10 + *at - '0' : FARTHEST;
        if (at == exponent)
            return NULL;
        power += below ? -written : written;
    }
    number->digits = digits;
    number->power = power;
    number->length = (size_t)(at - number->begin);
    return at;
}

const uint8_t *json_skip_number(const uint8_t *at, const uint8_t *end)
{
    struct json_number number;
    return json_scan_number(at, end, &number);
}

/* Round digits * 10 ^ power, as Lemire describes ("Number Parsing at a Gigabyte per Second", 2021); false where 128
   bits of the power do not decide, and for what is no normal double. */
static bool round_product(uint64_t digits, int32_t power, const json_power *powers, uint64_t *bits)
{
    if (power < FIRST_POWER || power > LAST_POWER)
        return false;
    const uint64_t *five = powers[power - FIRST_POWER];
    int shift = __builtin_clzll(digits);
    uint128_t product = (uint128_t)(digits << shift) * five[0];
    if (((uint64_t)(product >> 64) & 0x1ff) == 0x1ff)
        product += ((uint128_t)(digits << shift) * five[1]) >> 64;
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (low == UINT64_MAX)
        return false;
    int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9);
    int64_t exponent = (((152170 + 65536) * (int64_t)power) >> 16) + 63 + upper - shift + 1023;
    if (exponent <= 0 || exponent >= 0x7fe)
        return false;
    if (low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        mantissa &= ~UINT64_C(1);
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    *bits = (mantissa & ~(UINT64_C(1) << 52)) | (uint64_t)exponent << 52;
    return true;
}

/* Let the C library round a number, which it does by its text, whatever the locale of the process is. */
static bool round_text(const struct json_number *number, double *nearest, float *single)
{
    char text[LONGEST];
    if (number->length >= LONGEST)
        return false;
    memcpy(text, number->begin, number->length);
    text[number->length] = 0;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    if (nearest)
        *nearest = strtod_l(text, NULL, c);
    if (single)
        *single = strtof_l(text, NULL, c);
    freelocale(c);
    return true;
}

bool json_to_double(const struct json_number *number, const json_power *powers, double *value)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t bits;
    if (number->exact && number->digits <= UINT64_C(1) << 53 && number->power >= -22 && number->power <= 22) {
        double digits = (double)number->digits;
        *value = number->power < 0 ? digits / exact[-number->power] : digits * exact[number->power];
    } else if (number->exact && number->digits == 0) {
        *value = 0;
    } else if (number->exact && round_product(number->digits, number->power, powers, &bits)) {
        memcpy(value, &bits, sizeof bits);
    } else {
        return round_text(number, value, NULL) && isfinite(*value);
    }
    if (number->negative)
        *value = -*value;
    return true;
}

bool json_to_float(const struct json_number *number, const json_power *powers, float *value)
{
    const uint64_t below = (UINT64_C(1) << 29) - 1, half = UINT64_C(1) << 28;
    double nearest;
    uint64_t bits;
    if (!json_to_double(number, powers, &nearest))
        return false;
    memcpy(&bits, &nearest, sizeof bits);
    /* A double halfway between two floats may itself be rounded. */
    if (nearest != 0 && (fabs(nearest) < FLT_MIN || fabs(nearest) > FLT_MAX || (bits & below) == half))
        return round_text(number, NULL, value) && isfinite(*value);
    *value = (float)nearest;
    return true;
}

bool json_to_decimal(const uint8_t *at, size_t length, int32_t precision, int32_t scale, int128_t *value)
{
    const uint8_t *end = at + length;
    bool negative = at < end && *at == '-';
    const uint8_t *first = at += negative;
    int128_t digits = 0;
    for (; at < end && json_is_digit(*at) && at - first < precision; at++)
        digits = digits * 10 + (*at - '0');
    int32_t whole = (int32_t)(at - first), behind = 0, room = precision - scale;
    bool zero = whole == 1 && *first == '0';
    if (whole == 0 || (whole > 1 && *first == '0') || (whole > room && !(zero && room == 0)))
        return false;
    if (at < end && *at == '.') {
        for (at++; at < end && json_is_digit(*at) && behind < scale; at++, behind++)
            digits = digits * 10 + (*at - '0');
        if (behind == 0)
            return false;
    }
    if (at != end)
        return false;
    for (; behind < scale; behind++)
        digits *= 10;
    *value = negative ? -digits : digits;
    return true;
}

/* Read so many digits; -1 if there are none. */
static int32_t digits_at(const uint8_t *at, int count)
{
    int32_t value = 0;
    for (int i = 0; i < count; i++) {
        if (!json_is_digit(at[i]))
            return -1;
        value = value * 10 + at[i] - '0';
    }
    return value;
}

bool json_to_date(const uint8_t *at, size_t length, int32_t *days)
{
    static const uint8_t lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (length != 10 || at[4] != '-' || at[7] != '-')
        return false;
    int32_t year = digits_at(at, 4), month = digits_at(at + 5, 2), day = digits_at(at + 8, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > lengths[month - 1])
        return false;
    if (month == 2 && day == 29 && (year % 4 || (year % 100 == 0 && year % 400)))
        return false;
    int32_t shifted = month <= 2 ? year - 1 : year; /* years from March on end with their leap day */
    int32_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    *days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + of_year - 719468;
    return true;
}

/* Read Z, +hh, +hhmm or +hh:mm as minutes. */
static bool zone_minutes(const uint8_t *at, size_t length, int32_t *minutes)
{
    if (length == 1 && *at == 'Z') {
        *minutes = 0;
        return true;
    }
    if ((*at != '+' && *at != '-') || (length != 3 && length != 5 && length != 6) || (length == 6 && at[3] != ':'))
        return false;
    int32_t hour = digits_at(at + 1, 2), minute = length == 3 ? 0 : digits_at(at + length - 2, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *minutes = (*at == '-' ? -1 : 1) * (hour * 60 + minute);
    return true;
}

bool json_to_timestamp(const uint8_t *at, size_t length, bool zoned, int64_t *micros)
{
    const uint8_t *end = at + length;
    int32_t days, fraction = 0, zone = 0;
    if (length < 10 || !json_to_date(at, 10, &days))
        return false;
    *micros = days * INT64_C(86400000000);
    if (length == 10)
        return true;
    if (length < 19 || (at[10] != 'T' && at[10] != ' ') || at[13] != ':' || at[16] != ':')
        return false;
    int32_t hour = digits_at(at + 11, 2), minute = digits_at(at + 14, 2), second = digits_at(at + 17, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return false;
    at += 19;
    if (at < end && *at == '.') {
        const uint8_t *point = at++;
        for (; at < end && json_is_digit(*at); at++)
            if (at - point <= 6)
                fraction = fraction * 10 + *at - '0';
        if (at - point == 1)
            return false;
        for (ptrdiff_t i = at - point - 1; i < 6; i++)
            fraction *= 10;
    }
    if (at < end && (!zoned || !zone_minutes(at, (size_t)(end - at), &zone)))
        return false;
    *micros += ((hour * 60 + minute - zone) * INT64_C(60) + second) * 1000000 + fraction;
    return true;
}
