/* JSON objects, one a message, as Arrow columns. */
#ifndef JSON_DECODING_H
#define JSON_DECODING_H

#include <stdint.h>

#include "arrow_columns.h"
#include "json_numbers.h"

enum json_kind {
    KIND_BOOL,
    KIND_INT8,
    KIND_INT16,
    KIND_INT32,
    KIND_INT64,
    KIND_EPOCH, /* whole numbers since 1970, of `parameter` microseconds */
    KIND_FLOAT,
    KIND_DOUBLE,
    KIND_DECIMAL, /* of `parameter` digits, `scale` of them behind the point; a number, or a text */
    KIND_TEXT,
    KIND_DATE,
    KIND_CLOCK,     /* texts of timestamps without a zone */
    KIND_TIMESTAMP, /* those with one, which is UTC where there is none */
    KIND_JSON,      /* any value, as its text */
    KIND_LIST,
    KIND_MAP, /* a list of structs of a text, the key, and a value */
    KIND_STRUCT,
};

/* A column or field, or what is in a list. Its children stand next to each other, behind it. */
struct json_node {
    int32_t kind, parameter, scale, first_child, child_count, left_out;
    int64_t name, name_length; /* where its name stands in the names */
};

struct json_schema {
    const struct json_node *nodes; /* the first one is the object itself */
    int64_t node_count;
    const uint8_t *names;
    const json_power *powers;
};

enum json_status { STATUS_ROW, STATUS_UNSURE, STATUS_NO_VALUE };

enum json_error { ERROR_MEMORY = -1, ERROR_OFFSETS = -2 };

/* Decode messages, which are values of an Arrow array of binary: `offsets` begins at its first one, `validity` (perhaps
   NULL) has its bit at `validity_at`. Status tells of each what it is; those that are rows become, in their order, a
   struct array. Of a column that is left out values are checked, and there is no child for it.

   Return how many messages are rows, or an error; after an error `into` is untouched. */
int64_t streamapp_decode_json(const struct json_schema *schema, const uint8_t *data, int64_t data_length,
                              const int32_t *offsets, const uint8_t *validity, int64_t validity_at, int64_t count,
                              uint8_t *status, struct ArrowArray *into);

#endif
