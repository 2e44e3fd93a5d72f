#include "message_decoding.h"

#include <stdlib.h>

static bool offsets_fit(const struct messages *messages)
{
    const int32_t *offsets = messages->offsets;
    for (int64_t i = 0; i < messages->count; i++)
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i] || offsets[i + 1] > messages->data_length)
            return false;
    return true;
}

static bool has_value(const struct messages *messages, int64_t at)
{
    at += messages->validity_at;
    return !messages->validity || messages->validity[at >> 3] >> (at & 7) & 1;
}

/* Read one message; false, and no row of it is left, where that isn't sure. */
static bool read_message(const struct messages *messages, struct row_reader *reader, int64_t at)
{
    const uint8_t *begin = messages->data + messages->offsets[at];
    int64_t rows = reader->columns[0].length, length = messages->offsets[at + 1] - messages->offsets[at];
    if (length < messages->header_length || memcmp(begin, messages->header, (size_t)messages->header_length) != 0)
        return false;
    reader->end = begin + length;
    if (reader->read(reader, begin + messages->header_length))
        return true;
    if (!reader->error)
        column_truncate(&reader->columns[0], rows);
    return false;
}

int64_t messages_decode(const struct messages *messages, struct row_reader *reader, uint8_t *status,
                        struct ArrowArray *into)
{
    if (!offsets_fit(messages))
        return ERROR_OFFSETS;
    reader->readable = messages->data + messages->data_length;
    for (int64_t i = 0; i < messages->count && !reader->error; i++)
        if (!has_value(messages, i))
            status[i] = STATUS_NO_VALUE;
        else
            status[i] = read_message(messages, reader, i) ? STATUS_ROW : STATUS_UNSURE;
    if (reader->error)
        return reader->error;
    int64_t rows = reader->columns[0].length;
    return column_export(&reader->columns[0], into) ? rows : ERROR_MEMORY;
}

struct column *columns_make(const struct column_shape *shapes, int64_t count, int64_t rows)
{
    struct column *columns = calloc((size_t)count, sizeof *columns);
    for (int64_t i = 0; columns && i < count; i++) {
        columns[i].layout = (enum column_layout)shapes[i].layout;
        columns[i].width = (uint8_t)shapes[i].width;
        columns[i].children = columns + shapes[i].first_child;
        columns[i].child_count = shapes[i].child_count;
    }
    for (int64_t i = 0; columns && i < count; i++)
        if (!column_grow(&columns[i], rows + 1)) {
            columns_free(columns);
            columns = NULL;
        }
    return columns;
}

void columns_free(struct column *columns)
{
    if (columns)
        column_free(&columns[0]);
    free(columns);
}
