#include "row_columns.h"

#include <stdbool.h>
#include <string.h>

static bool is_set(const uint8_t *bits, int64_t at) { return bits[at >> 3] >> (at & 7) & 1; }

static int64_t integer_size(int64_t value)
{
    if (value >= 0)
        return value < 128 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3 : value <= UINT32_MAX ? 5 : 9;
    return value >= -32 ? 1 : value >= INT8_MIN ? 2 : value >= INT16_MIN ? 3 : value >= INT32_MIN ? 5 : 9;
}

static int64_t length_size(int64_t kind, int64_t length)
{
    if (kind == ROW_TEXT && length < 32)
        return 1;
    return length <= UINT8_MAX ? 2 : length <= UINT16_MAX ? 3 : 5;
}

static int64_t array_size(int64_t count) { return count < 16 ? 1 : count <= UINT16_MAX ? 3 : 5; }

static int64_t value_size(const struct row_column *column, int64_t at)
{
    if (column->validity && !is_set(column->validity, at))
        return 1;
    switch (column->kind) {
    case ROW_BOOLEAN:
        return 1;
    case ROW_INTEGER:
        return integer_size(((const int64_t *)column->values)[at]);
    case ROW_NUMBER:
        return 9;
    case ROW_ENCODED:
        return (int64_t)column->offsets[at + 1] - column->offsets[at] - column->skipped;
    default: {
        int64_t length = (int64_t)column->offsets[at + 1] - column->offsets[at];
        return length_size(column->kind, length) + length;
    }
    }
}

/* Write the lowest `width` bytes of a number, the highest of them first, behind a byte that says what it is. */
static uint8_t *put(uint8_t *into, uint8_t code, uint64_t value, int width)
{
    *into++ = code;
    for (int at = width - 1; at >= 0; at--)
        *into++ = (uint8_t)(value >> (8 * at));
    return into;
}

static uint8_t *put_integer(uint8_t *into, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    int64_t size = integer_size(value);
    bool negative = value < 0;
    switch (size) {
    case 1:
        *into = (uint8_t)bits;
        return into + 1;
    case 2:
        return put(into, negative ? 0xd0 : 0xcc, bits, 1);
    case 3:
        return put(into, negative ? 0xd1 : 0xcd, bits, 2);
    case 5:
        return put(into, negative ? 0xd2 : 0xce, bits, 4);
    default:
        return put(into, negative ? 0xd3 : 0xcf, bits, 8);
    }
}

static uint8_t *put_length(uint8_t *into, int64_t kind, int64_t length)
{
    bool text = kind == ROW_TEXT;
    switch (length_size(kind, length)) {
    case 1:
        *into = (uint8_t)(0xa0 | length);
        return into + 1;
    case 2:
        return put(into, text ? 0xd9 : 0xc4, (uint64_t)length, 1);
    case 3:
        return put(into, text ? 0xda : 0xc5, (uint64_t)length, 2);
    default:
        return put(into, text ? 0xdb : 0xc6, (uint64_t)length, 4);
    }
}

static uint8_t *put_value(uint8_t *into, const struct row_column *column, int64_t at)
{
    if (column->validity && !is_set(column->validity, at)) {
        *into = 0xc0;
        return into + 1;
    }
    switch (column->kind) {
    case ROW_BOOLEAN:
        *into = is_set(column->values, at) ? 0xc3 : 0xc2;
        return into + 1;
    case ROW_INTEGER:
        return put_integer(into, ((const int64_t *)column->values)[at]);
    case ROW_NUMBER: {
        uint64_t bits;
        memcpy(&bits, (const double *)column->values + at, sizeof bits);
        return put(into, 0xcb, bits, 8);
    }
    default: {
        int64_t begin = column->offsets[at] + column->skipped, length = (int64_t)column->offsets[at + 1] - begin;
        if (column->kind != ROW_ENCODED)
            into = put_length(into, column->kind, length);
        if (length)
            memcpy(into, (const uint8_t *)column->values + begin, (size_t)length);
        return into + length;
    }
    }
}

int64_t streamapp_measure_rows(const struct encoded_rows *rows, int32_t *offsets)
{
    int64_t total = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < rows->rows; row++) {
        total += rows->prefix + array_size(rows->values);
        for (int64_t at = 0; at < rows->count; at++)
            total += value_size(&rows->columns[at], rows->columns[at].first + row);
        if (total > INT32_MAX)
            return -1;
        offsets[row + 1] = (int32_t)total;
    }
    return total;
}

static uint8_t *put_count(uint8_t *into, int64_t count)
{
    if (count < 16) {
        *into = (uint8_t)(0x90 | count);
        return into + 1;
    }
    return count <= UINT16_MAX ? put(into, 0xdc, (uint64_t)count, 2) : put(into, 0xdd, (uint64_t)count, 4);
}

void streamapp_encode_rows(const struct encoded_rows *rows, const int32_t *offsets, uint8_t *into)
{
    for (int64_t row = 0; row < rows->rows; row++) {
        uint8_t *next = into + offsets[row];
        if (rows->prefix)
            memcpy(next, rows->prefixes + row * rows->prefix, (size_t)rows->prefix);
        next = put_count(next + rows->prefix, rows->values);
        for (int64_t at = 0; at < rows->count; at++)
            next = put_value(next, &rows->columns[at], rows->columns[at].first + row);
    }
}
