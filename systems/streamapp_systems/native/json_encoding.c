#include "json_encoding.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { LONGEST_ESCAPE = 6, LONGEST_SCALAR = 32, WORD = 8 };

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))
#define HIGH_BITS EACH_BYTE(0x80)

/* Tell whether JSON writes all eight bytes as they are: none is below a space, a quote or a backslash. */
static bool is_plain(uint64_t bytes)
{
    uint64_t quotes = bytes ^ EACH_BYTE('"'), backslashes = bytes ^ EACH_BYTE('\\');
    uint64_t below = (bytes - EACH_BYTE(' ')) & ~bytes;
    return !((below | ((quotes - EACH_BYTE(1)) & ~quotes) | ((backslashes - EACH_BYTE(1)) & ~backslashes)) & HIGH_BITS);
}

static uint8_t *write_escape(uint8_t *at, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef", letters[] = "\b\t\n\f\r\"\\", escapes[] = "btnfr\"\\";
    const char *found = byte == 0 ? NULL : strchr(letters, byte);
    *at++ = '\\';
    if (found != NULL) {
        *at++ = (uint8_t)escapes[found - letters];
        return at;
    }
    memcpy(at, "u00", 3);
    at[3] = (uint8_t)digits[byte >> 4];
    at[4] = (uint8_t)digits[byte & 15];
    return at + 5;
}

/* Write a text; there is room for as many escapes as it has bytes, and a word. */
static uint8_t *write_text(uint8_t *at, const uint8_t *text, size_t length)
{
    *at++ = '"';
    while (length > 0) {
        uint64_t word = 0;
        if (length >= WORD) {
            memcpy(&word, text, WORD);
            if (is_plain(word)) {
                memcpy(at, &word, WORD);
                at += WORD, text += WORD, length -= WORD;
                continue;
            }
        }
        for (size_t some = length < WORD ? length : WORD; some > 0; some--, length--, text++) {
            if (*text >= ' ' && *text != '"' && *text != '\\')
                *at++ = *text;
            else
                at = write_escape(at, *text);
        }
    }
    *at++ = '"';
    return at;
}

static uint8_t *write_number(uint8_t *at, int64_t number)
{
    uint8_t digits[20], *digit = digits + sizeof digits;
    uint64_t left = (uint64_t)number;
    if (number < 0) {
        *at++ = '-';
        left = -left;
    }
    do {
        *--digit = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    size_t length = (size_t)(digits + sizeof digits - digit);
    memcpy(at, digit, length);
    return at + length;
}

static uint8_t *write_padded(uint8_t *at, int64_t number, int width)
{
    for (int place = width - 1; place >= 0; place--, number /= 10)
        at[place] = (uint8_t)('0' + number % 10);
    return at + width;
}

/* Write a day of the years 0 to 9999, counted from 1970. */
static uint8_t *write_date(uint8_t *at, int64_t days)
{
    /* In years that begin in March a leap day is the last; day 0 is 1 March of a year before 0 that 400 divides. */
    int64_t day = days + 719468 + 146097, era = day / 146097, of_era = day % 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * of_year + 2) / 153, day_of_month = of_year - (153 * month + 2) / 5 + 1;
    int64_t year = year_of_era + (era - 1) * 400 + (month >= 10);
    at = write_padded(at, year, 4);
    *at++ = '-';
    at = write_padded(at, month < 10 ? month + 3 : month - 9, 2);
    *at++ = '-';
    return write_padded(at, day_of_month, 2);
}

static const int64_t FIRST_DAY = -719528, END_DAY = 2932897, DAY_MICROS = INT64_C(86400000000);

static uint8_t *write_micros(uint8_t *at, int64_t micros, bool in_utc)
{
    int64_t days = micros / DAY_MICROS, of_day = micros % DAY_MICROS;
    if (of_day < 0) {
        days--;
        of_day += DAY_MICROS;
    }
    int64_t seconds = of_day / 1000000, fraction = of_day % 1000000;
    at = write_date(at, days);
    *at++ = 'T';
    at = write_padded(at, seconds / 3600, 2);
    *at++ = ':';
    at = write_padded(at, seconds / 60 % 60, 2);
    *at++ = ':';
    at = write_padded(at, seconds % 60, 2);
    if (fraction > 0) {
        *at++ = '.';
        at = write_padded(at, fraction, 6);
        while (at[-1] == '0')
            at--;
    }
    if (in_utc)
        *at++ = 'Z';
    return at;
}

static int64_t read_number(const struct json_column *column, int64_t place)
{
    switch (column->kind) {
    case JSON_INT8:
        return ((const int8_t *)column->values)[place];
    case JSON_INT16:
        return ((const int16_t *)column->values)[place];
    case JSON_INT32:
    case JSON_DAYS:
        return ((const int32_t *)column->values)[place];
    default:
        return ((const int64_t *)column->values)[place];
    }
}

static bool is_bit_set(const uint8_t *bits, int64_t place) { return bits[place >> 3] >> (place & 7) & 1; }

/* Write a value that is no text; there is room. Return NULL where it can't be written. */
static uint8_t *write_scalar(uint8_t *at, const struct json_column *column, int64_t place)
{
    if (column->kind == JSON_BOOLEAN) {
        bool value = is_bit_set(column->values, place);
        memcpy(at, value ? "true" : "false", value ? 4 : 5);
        return at + (value ? 4 : 5);
    }
    int64_t number = read_number(column, place);
    if (column->kind < JSON_DAYS)
        return write_number(at, number);
    int64_t unit = column->kind == JSON_DAYS ? 1 : DAY_MICROS;
    if (number < FIRST_DAY * unit || number >= END_DAY * unit)
        return NULL;
    *at++ = '"';
    at = column->kind == JSON_DAYS ? write_date(at, number)
                                   : write_micros(at, number, column->kind == JSON_MICROS_IN_UTC);
    *at++ = '"';
    return at;
}

static size_t text_size(const struct json_column *column, const uint8_t *text, size_t length, size_t room)
{
    if (column->kind != JSON_TEXT || length <= room / (2 * LONGEST_ESCAPE))
        return column->kind == JSON_TEXT ? length * LONGEST_ESCAPE : length;
    size_t size = 0;
    uint8_t escape[LONGEST_ESCAPE];
    for (size_t place = 0; place < length; place++) {
        bool plain = text[place] >= ' ' && text[place] != '"' && text[place] != '\\';
        size += plain ? 1 : (size_t)(write_escape(escape, text[place]) - escape);
    }
    return size;
}

/* Write a name and a value. Return the end of what was written; NULL with an error otherwise. */
static uint8_t *write_member(uint8_t *at, const uint8_t *end, const struct json_column *column, int64_t row,
                             int64_t *error)
{
    int64_t place = column->first + row;
    size_t room = (size_t)(end - at), name_size = (size_t)column->name_size, length = LONGEST_SCALAR;
    const uint8_t *text = NULL;
    bool valid = column->validity == NULL || is_bit_set(column->validity, place);
    *error = JSON_MALFORMED;
    if (valid && column->kind <= JSON_WRITTEN_IN_QUOTES) {
        const int32_t *offsets = column->values;
        int64_t start = offsets[place], stop = offsets[place + 1];
        if (start < 0 || stop < start || stop > column->size)
            return NULL;
        length = (size_t)(stop - start);
        text = column->data == NULL ? (const uint8_t *)"" : column->data + start;
    }
    *error = JSON_NO_ROOM;
    if (room < name_size + LONGEST_SCALAR || room - name_size - LONGEST_SCALAR < length)
        return NULL;
    if (text != NULL && room - name_size - LONGEST_SCALAR < text_size(column, text, length, room))
        return NULL;
    memcpy(at, column->name, name_size);
    at += name_size;
    if (!valid) {
        memcpy(at, "null", 4);
        return at + 4;
    }
    if (text == NULL) {
        *error = JSON_BEYOND_YEARS;
        return write_scalar(at, column, place);
    }
    if (column->kind == JSON_TEXT)
        return write_text(at, text, length);
    bool quoted = column->kind == JSON_WRITTEN_IN_QUOTES;
    *at = '"';
    at += quoted;
    memcpy(at, text, length);
    at += length;
    *at = '"';
    return at + quoted;
}

int64_t streamapp_encode_json(const struct json_column *columns, int64_t column_count, int64_t rows,
                              int32_t *offsets, uint8_t *into, int64_t capacity)
{
    uint8_t *at = into, *end = into + (capacity > INT32_MAX ? INT32_MAX : capacity);
    int64_t error = JSON_MALFORMED;
    for (int64_t place = 0; place < column_count; place++)
        if (columns[place].kind < JSON_TEXT || columns[place].kind > JSON_MICROS_IN_UTC || columns[place].name_size < 0)
            return JSON_MALFORMED;
    for (int64_t row = 0; row < rows; row++) {
        offsets[row] = (int32_t)(at - into);
        for (int64_t place = 0; place < column_count; place++) {
            at = write_member(at, end, &columns[place], row, &error);
            if (at == NULL)
                return error;
        }
        if (at == end)
            return JSON_NO_ROOM;
        *at++ = '}';
    }
    offsets[rows] = (int32_t)(at - into);
    return at - into;
}
