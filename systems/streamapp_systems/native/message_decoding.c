#include "message_decoding.h"

#include <stdlib.h>

#include "utf8.h"

static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

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

/* Copy bytes behind the others of a column; return the bits that are set in any of them. */
static uint64_t copy_bytes(struct column *column, const uint8_t *begin, size_t length)
{
    uint8_t *into = column->data + column->data_length;
    uint64_t word, found = 0;
    uint32_t half;
    if (length >= sizeof word) {
        for (size_t at = 0; at + sizeof word < length; at += sizeof word) {
            memcpy(&word, begin + at, sizeof word);
            memcpy(into + at, &word, sizeof word);
            found |= word;
        }
        memcpy(&word, begin + length - sizeof word, sizeof word);
        memcpy(into + length - sizeof word, &word, sizeof word);
        return found | word;
    }
    if (length >= sizeof half) {
        memcpy(&half, begin, sizeof half);
        memcpy(into, &half, sizeof half);
        found = half;
        memcpy(&half, begin + length - sizeof half, sizeof half);
        memcpy(into + length - sizeof half, &half, sizeof half);
        return found | half;
    }
    for (size_t at = 0; at < length; at++) {
        into[at] = begin[at];
        found |= begin[at];
    }
    return found;
}

bool reader_append_bytes(struct row_reader *reader, struct column *column, const uint8_t *begin, size_t length,
                         bool is_text)
{
    if (length > (size_t)(INT32_MAX - column->data_length)) {
        reader->error = ERROR_SIZE;
        return false;
    }
    if (!column_reserve_data(column, length)) {
        reader->error = ERROR_MEMORY;
        return false;
    }
    if ((copy_bytes(column, begin, length) & HIGH_BITS) && is_text && !is_utf8(begin, begin + length))
        return false;
    column->data_length += (int64_t)length;
    column_append_end(column, column->data_length);
    return true;
}

static void columns_free(struct column *columns)
{
    if (columns)
        column_free(&columns[0]);
    free(columns);
}

/* Make columns with room for rows, the first of which holds all others; NULL where there is no memory. */
static struct column *columns_make(const struct column_shape *shapes, int64_t count, int64_t rows)
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

int64_t messages_decode_shaped(const struct messages *messages, struct row_reader *reader,
                               const struct column_shape *shapes, int64_t shape_count, uint8_t *status,
                               struct ArrowArray *into)
{
    int64_t rows = ERROR_MEMORY;
    reader->columns = columns_make(shapes, shape_count, messages->count);
    if (reader->columns)
        rows = messages_decode(messages, reader, status, into);
    columns_free(reader->columns);
    return rows;
}
