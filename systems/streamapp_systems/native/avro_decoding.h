/* Records of Avro, one a message, as Arrow columns. A program says how to read them: a step for each type of the
   writer's schema, made for the columns of the reader's. */
#ifndef AVRO_DECODING_H
#define AVRO_DECODING_H

#include "message_decoding.h"
#include "wide_integers.h"

enum avro_kind {
    AVRO_NULL,         /* no bytes; a null if there is a column */
    AVRO_PASS_BYTES,   /* `size` bytes that no column has */
    AVRO_PASS_NUMBER,  /* a whole number that no column has */
    AVRO_PASS_SPAN,    /* a length and as many bytes that no column has */
    AVRO_BOOLEAN,
    AVRO_WHOLE_INT32,  /* whole numbers from `low` to `high` */
    AVRO_WHOLE_INT64,  /* the same, multiplied by `size` */
    AVRO_WHOLE_FLOAT,
    AVRO_WHOLE_DOUBLE,
    AVRO_WHOLE_DECIMAL, /* the same, multiplied by `factor` */
    AVRO_FLOAT,
    AVRO_FLOAT_DOUBLE, /* floats for a column of doubles */
    AVRO_DOUBLE,
    AVRO_ENUM,         /* `count` symbols, of which `first` is the first */
    AVRO_TEXT,         /* UTF-8 */
    AVRO_BINARY,       /* any bytes; `size` of them, or if that is negative their length stands before them */
    AVRO_UUID,         /* 16 bytes for a column of texts */
    AVRO_DECIMAL,      /* bytes as of AVRO_BINARY; up to `limit`, multiplied by `factor` */
    AVRO_UNION,        /* one of `count` steps */
    AVRO_RECORD,       /* all of `count` steps; with a column those of all children are among them */
    AVRO_ARRAY,        /* blocks of values of one step, each of which has a byte at least */
    AVRO_MAP,          /* the same; the elements' column has keys, which are texts, and values */
};

/* `column` is negative where what is read is no column's. The steps below one stand next to each other, behind it. */
struct avro_step {
    int32_t kind, column, first, count;
    int64_t size, low, high;
    uint64_t factor[2], limit[2]; /* the lower half first */
};

struct avro_program {
    const struct avro_step *steps; /* the first one is the record */
    const struct column_shape *shapes;
    int64_t shape_count;
    const uint8_t *symbols;
    const int64_t *symbol_ends; /* where each symbol ends, behind where the first one begins */
};

/* See `messages_decode`. */
int64_t streamapp_decode_avro(const struct avro_program *program, const struct messages *messages, uint8_t *status,
                              struct ArrowArray *into);

#endif
