/* Columns that grow value by value, and become arrays of Arrow's C data interface without a copy. */
#ifndef ARROW_COLUMNS_H
#define ARROW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As https://arrow.apache.org/docs/format/CDataInterface.html defines it. */
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

enum column_layout { LAYOUT_BITS, LAYOUT_FIXED, LAYOUT_TEXT, LAYOUT_LIST, LAYOUT_STRUCT };

/* One column. Without `validity` no value is null so far. `values` are bits, values of `width` bytes, or the offsets of
   texts and lists. Of a column that is left out only the length is kept, for those below it not even that. */
struct column {
    enum column_layout layout;
    bool left_out;
    uint8_t width;
    int32_t child_count;
    int64_t length, capacity;
    uint8_t *validity, *values, *data;
    int64_t data_length, data_capacity;
    struct column *children;
};

enum { TEXT_SLACK = 16 };

/* These return false where there is no memory. */
bool column_grow(struct column *column, int64_t capacity);
bool column_grow_data(struct column *column, size_t more);
bool column_append_null(struct column *column);

/* Drop all values from the given length on, of columns below it as well; one of them may be there in part. */
void column_truncate(struct column *column, int64_t length);

/* Free what a column and those below it hold. */
void column_free(struct column *column);

/* Make an array of a column, which then holds nothing; `left out` columns of a struct are no part of it. */
bool column_export(struct column *column, struct ArrowArray *into);

/* Make room for one more value. */
static inline bool column_reserve(struct column *column)
{
    return column->left_out || column->length < column->capacity || column_grow(column, 2 * column->capacity + 64);
}

static inline void column_set_bit(uint8_t *bits, int64_t at, bool value)
{
    uint8_t mask = (uint8_t)(1u << (at & 7));
    bits[at >> 3] = (uint8_t)(value ? bits[at >> 3] | mask : bits[at >> 3] & ~mask);
}

/* End the append of a value, for which there is room. */
static inline void column_end_value(struct column *column)
{
    if (column->validity)
        column_set_bit(column->validity, column->length, true);
    column->length++;
}

static inline void column_append_bytes(struct column *column, const void *value, size_t width)
{
    if (!column->left_out)
        memcpy(column->values + column->length * (int64_t)width, value, width);
    column_end_value(column);
}

static inline void column_append_bit(struct column *column, bool value)
{
    if (!column->left_out)
        column_set_bit(column->values, column->length, value);
    column_end_value(column);
}

/* End the append of a text or list whose data or elements are there. */
static inline void column_append_end(struct column *column, int64_t end)
{
    if (!column->left_out)
        ((int32_t *)(void *)column->values)[column->length + 1] = (int32_t)end;
    column_end_value(column);
}

/* Make room for a text of a length, and for stores of 16 bytes at its end. */
static inline bool column_reserve_data(struct column *column, size_t length)
{
    return (int64_t)(length + TEXT_SLACK) <= column->data_capacity - column->data_length ||
           column_grow_data(column, length + TEXT_SLACK);
}

#endif
