/* Messages, one after the other, as the rows of columns. */
#ifndef MESSAGE_DECODING_H
#define MESSAGE_DECODING_H

#include "arrow_columns.h"

/* Values of an Arrow array of binary: `offsets` begins at its first one, `validity` (perhaps NULL) has its bit at
   `validity_at`. What a value is to be read of is behind a header, the same for all. */
struct messages {
    const uint8_t *data;
    int64_t data_length;
    const int32_t *offsets;
    const uint8_t *validity;
    int64_t validity_at, count;
    const uint8_t *header;
    int64_t header_length;
};

enum message_status { STATUS_ROW, STATUS_UNSURE, STATUS_NO_VALUE };

/* ERROR_SIZE: a column has more than its offsets can say. */
enum decoding_error { NO_ERROR = 0, ERROR_MEMORY = -1, ERROR_OFFSETS = -2, ERROR_SIZE = -3 };

/* What reads messages into columns: `read` appends one row to all columns below the first, the rows' struct, or
   returns false where it isn't sure of the message, which may be there in part then, or sets `error`. Between `end` of a
   message and `readable` bytes may be read. */
struct row_reader {
    struct column *columns;
    const uint8_t *end, *readable;
    enum decoding_error error;
    bool (*read)(struct row_reader *reader, const uint8_t *begin);
};

/* Decode messages; `status` tells of each what it is, and those that are rows become, in their order, a struct array.

   Return how many messages are rows, or an error; after an error `into` is untouched. */
int64_t messages_decode(const struct messages *messages, struct row_reader *reader, uint8_t *status,
                        struct ArrowArray *into);

/* Append bytes to a column of texts that has room for one more; false if they are to be a text and are no UTF-8, or
   with an error. */
bool reader_append_bytes(struct row_reader *reader, struct column *column, const uint8_t *begin, size_t length,
                         bool is_text);

/* A column as it is to be made; its children stand next to each other, behind it. */
struct column_shape {
    int32_t layout, width, first_child, child_count;
};

/* See `messages_decode`; the reader's columns are made as these shapes say, the first of which holds all others, and freed
   in the end. */
int64_t messages_decode_shaped(const struct messages *messages, struct row_reader *reader,
                               const struct column_shape *shapes, int64_t shape_count, uint8_t *status,
                               struct ArrowArray *into);

#endif
