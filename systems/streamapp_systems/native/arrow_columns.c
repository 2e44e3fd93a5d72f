#include "arrow_columns.h"

#include <stdlib.h>

static bool resize(uint8_t **buffer, int64_t size)
{
    uint8_t *resized = realloc(*buffer, size > 0 ? (size_t)size : 1);
    if (resized)
        *buffer = resized;
    return resized != NULL;
}

static int64_t bits_size(int64_t count) { return (count + 7) / 8; }

static int64_t values_size(const struct column *column, int64_t count)
{
    switch (column->layout) {
    case LAYOUT_BITS:
        return bits_size(count);
    case LAYOUT_FIXED:
        return count * column->width;
    case LAYOUT_TEXT:
    case LAYOUT_LIST:
        return (count + 1) * (int64_t)sizeof(int32_t);
    default:
        return 0;
    }
}

static int64_t end_of(const struct column *column, int64_t length)
{
    return ((const int32_t *)(const void *)column->values)[length];
}

bool column_grow(struct column *column, int64_t capacity)
{
    if (column->validity && !resize(&column->validity, bits_size(capacity)))
        return false;
    if (column->layout != LAYOUT_STRUCT) {
        bool first = column->values == NULL;
        if (!resize(&column->values, values_size(column, capacity)))
            return false;
        if (first && (column->layout == LAYOUT_TEXT || column->layout == LAYOUT_LIST))
            memset(column->values, 0, sizeof(int32_t));
    }
    column->capacity = capacity;
    return true;
}

bool column_grow_data(struct column *column, size_t more)
{
    int64_t needed = column->data_length + (int64_t)more;
    int64_t capacity = needed > 2 * column->data_capacity ? needed : 2 * column->data_capacity;
    if (!resize(&column->data, capacity))
        return false;
    column->data_capacity = capacity;
    return true;
}

bool column_append_null(struct column *column)
{
    if (column->left_out) {
        column->length++;
        return true;
    }
    if (!column_reserve(column))
        return false;
    if (!column->validity) {
        if (!resize(&column->validity, bits_size(column->capacity)))
            return false;
        memset(column->validity, 0xff, (size_t)bits_size(column->capacity));
    }
    column_set_bit(column->validity, column->length, false);
    switch (column->layout) {
    case LAYOUT_BITS:
        column_set_bit(column->values, column->length, false);
        break;
    case LAYOUT_FIXED:
        memset(column->values + column->length * column->width, 0, column->width);
        break;
    case LAYOUT_STRUCT:
        for (int32_t i = 0; i < column->child_count; i++)
            if (!column_append_null(&column->children[i]))
                return false;
        break;
    default:
        ((int32_t *)(void *)column->values)[column->length + 1] = (int32_t)end_of(column, column->length);
    }
    column->length++;
    return true;
}

void column_truncate(struct column *column, int64_t length)
{
    if (column->length > length)
        column->length = length;
    if (column->left_out)
        return;
    if (column->layout == LAYOUT_TEXT)
        column->data_length = column->values ? end_of(column, column->length) : 0;
    else if (column->layout == LAYOUT_LIST)
        column_truncate(&column->children[0], column->values ? end_of(column, column->length) : 0);
    else
        for (int32_t i = 0; i < column->child_count; i++)
            column_truncate(&column->children[i], length);
}

void column_free(struct column *column)
{
    free(column->validity);
    free(column->values);
    free(column->data);
    column->validity = column->values = column->data = NULL;
    for (int32_t i = 0; i < column->child_count; i++)
        column_free(&column->children[i]);
}

/* What an exported array owns beside its buffers and children. */
struct exported {
    const void *buffers[3];
    struct ArrowArray *pointers[];
};

static void release(struct ArrowArray *array)
{
    struct exported *owned = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child->release)
            child->release(child);
        free(child);
    }
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(owned);
    array->release = NULL;
}

static bool shrink(struct column *column)
{
    if (column->layout == LAYOUT_STRUCT)
        return true;
    return (column->values || column_grow(column, 0)) && resize(&column->values, values_size(column, column->length)) &&
           (column->layout != LAYOUT_TEXT || resize(&column->data, column->data_length));
}

bool column_export(struct column *column, struct ArrowArray *into)
{
    static const int64_t buffers[] = {2, 2, 3, 2, 1};
    struct exported *owned = NULL;
    if (shrink(column))
        owned = calloc(1, sizeof *owned + (size_t)column->child_count * sizeof owned->pointers[0]);
    if (!owned)
        return false;
    *into = (struct ArrowArray){
        .length = column->length,
        .null_count = column->validity ? -1 : 0,
        .n_buffers = buffers[column->layout],
        .buffers = owned->buffers,
        .children = owned->pointers,
        .release = release,
        .private_data = owned,
    };
    owned->buffers[0] = column->validity;
    owned->buffers[1] = column->values;
    owned->buffers[2] = column->data;
    column->validity = column->values = column->data = NULL;
    for (int32_t i = 0; i < column->child_count; i++) {
        if (column->children[i].left_out)
            continue;
        struct ArrowArray *child = calloc(1, sizeof *child);
        if (!child || !column_export(&column->children[i], child)) {
            free(child);
            release(into);
            return false;
        }
        owned->pointers[into->n_children++] = child;
    }
    return true;
}
