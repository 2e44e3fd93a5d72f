/* JSON objects, one a message, as Arrow columns. */
#ifndef JSON_DECODING_H
#define JSON_DECODING_H

#include <stdint.h>

#include "json_numbers.h"
#include "message_decoding.h"

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

/* See `messages_decode`. Of a column that is left out values are checked, and there is no child for it. */
int64_t streamapp_decode_json(const struct json_schema *schema, const struct messages *messages, uint8_t *status,
                              struct ArrowArray *into);

#endif
