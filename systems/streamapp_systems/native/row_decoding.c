#include "row_columns.h"

#include <stdbool.h>
#include <string.h>

/* What is left of one row; `base` is where its data begin. */
struct reader {
    const uint8_t *base, *next, *end;
};

/* A value as it stands in a row: texts and bytes where they begin and their length. */
struct value {
    int64_t kind;
    bool present;
    int64_t integer, begin;
    double number;
};

static bool take(struct reader *from, int width, uint64_t *value)
{
    if (from->end - from->next < width)
        return false;
    *value = 0;
    for (int at = 0; at < width; at++)
        *value = *value << 8 | *from->next++;
    return true;
}

static bool take_signed(struct reader *from, int width, struct value *into)
{
    uint64_t bits;
    into->kind = ROW_INTEGER;
    if (!take(from, width, &bits))
        return false;
    int unused = 64 - 8 * width;
    into->integer = (int64_t)(bits << unused) >> unused;
    return true;
}

static bool take_unsigned(struct reader *from, int width, struct value *into)
{
    uint64_t bits;
    into->kind = ROW_INTEGER;
    if (!take(from, width, &bits) || bits > INT64_MAX)
        return false;
    into->integer = (int64_t)bits;
    return true;
}

static bool take_data(struct reader *from, int64_t kind, uint64_t length, struct value *into)
{
    into->kind = kind;
    if ((uint64_t)(from->end - from->next) < length)
        return false;
    into->begin = from->next - from->base;
    into->integer = (int64_t)length;
    from->next += length;
    return true;
}

static bool take_long_data(struct reader *from, int64_t kind, int width, struct value *into)
{
    uint64_t length;
    return take(from, width, &length) && take_data(from, kind, length, into);
}

static bool take_value(struct reader *from, struct value *into)
{
    uint64_t bits;
    if (!take(from, 1, &bits))
        return false;
    uint8_t code = (uint8_t)bits;
    into->present = true;
    if (code < 0x80 || code >= 0xe0) {
        into->kind = ROW_INTEGER;
        into->integer = (int8_t)code;
        return true;
    }
    if ((code & 0xe0) == 0xa0)
        return take_data(from, ROW_TEXT, code & 0x1f, into);
    switch (code) {
    case 0xc0:
        into->present = false;
        return true;
    case 0xc2:
    case 0xc3:
        into->kind = ROW_BOOLEAN;
        into->integer = code & 1;
        return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return take_long_data(from, ROW_BYTES, 1 << (code - 0xc4), into);
    case 0xcb:
        into->kind = ROW_NUMBER;
        if (!take(from, 8, &bits))
            return false;
        memcpy(&into->number, &bits, sizeof bits);
        return true;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return take_unsigned(from, 1 << (code - 0xcc), into);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return take_signed(from, 1 << (code - 0xd0), into);
    case 0xd9:
    case 0xda:
    case 0xdb:
        return take_long_data(from, ROW_TEXT, 1 << (code - 0xd9), into);
    default:
        return false;
    }
}

static bool take_count(struct reader *from, uint64_t *count)
{
    if (!take(from, 1, count))
        return false;
    if ((*count & 0xf0) == 0x90) {
        *count &= 0x0f;
        return true;
    }
    return (*count == 0xdc && take(from, 2, count)) || (*count == 0xdd && take(from, 4, count));
}

static bool store(const struct row_values *column, int64_t row, const struct value *value)
{
    if (column->kind == ROW_SKIPPED)
        return true;
    column->present[row] = value->present;
    if (!value->present) {
        if (column->kind == ROW_TEXT || column->kind == ROW_BYTES)
            memset((int64_t *)column->values + 2 * row, 0, 2 * sizeof(int64_t));
        else
            ((int64_t *)column->values)[row] = 0;
        return true;
    }
    if (value->kind != column->kind)
        return false;
    if (column->kind == ROW_NUMBER) {
        ((double *)column->values)[row] = value->number;
    } else if (column->kind == ROW_INTEGER || column->kind == ROW_BOOLEAN) {
        ((int64_t *)column->values)[row] = value->integer;
    } else {
        ((int64_t *)column->values)[2 * row] = value->begin;
        ((int64_t *)column->values)[2 * row + 1] = value->integer;
    }
    return true;
}

static bool decode_row(struct reader from, int64_t row, const struct row_values *columns, int64_t count)
{
    uint64_t held;
    if (!take_count(&from, &held) || held != (uint64_t)count)
        return false;
    for (int64_t at = 0; at < count; at++) {
        struct value value = {0};
        if (!take_value(&from, &value) || !store(&columns[at], row, &value))
            return false;
    }
    return from.next == from.end;
}

int64_t streamapp_decode_rows(const struct binary_column *rows, const struct row_values *columns, int64_t count)
{
    for (int64_t row = 0; row < rows->length; row++) {
        const int32_t *offsets = rows->offsets + rows->first + row;
        struct reader from = {rows->data, rows->data + offsets[0], rows->data + offsets[1]};
        if (offsets[1] < offsets[0] || !decode_row(from, row, columns, count))
            return row;
    }
    return rows->length;
}
