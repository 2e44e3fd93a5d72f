/* Readers of values: what one message's text says goes to the ends of columns. */
#ifndef JSON_READING_H
#define JSON_READING_H

#include "json_decoding.h"
#include "json_scanning.h"
#include "map_keys.h"

/* The name of a member as it stood in a message, up to its colon, and the child that it names, or NULL. */
struct known_name {
    const uint8_t *begin;
    size_t length;
    struct reader *child;
};

/* What reads values of a node into a column. Columns of the children are those of the readers, in order. */
struct reader {
    const struct json_node *node;
    struct column *column;
    struct reader *children;
    struct known_name *names; /* of members of objects, in the order in which they came */
    size_t name_count, name_capacity;
};

struct decoder {
    struct row_reader rows; /* the first member, by which one is known for the other */
    struct json_bounds in;
    const struct json_schema *schema;
    struct reader *readers;
    struct key_slots slots;
};

/* These return the place behind a value of which they have appended all, or NULL: then a part of it may be there. */
const uint8_t *json_read_object(struct decoder *decoder, struct reader *reader, const uint8_t *at);
const uint8_t *json_read_plain(struct decoder *decoder, struct reader *reader, const uint8_t *at);

/* Append a text, for whose end there is room; false where there is no memory. */
bool json_append_text(struct column *column, const struct json_bounds *in, const struct json_text *text);

static inline const uint8_t *json_no_memory(struct decoder *decoder)
{
    decoder->rows.error = ERROR_MEMORY;
    return NULL;
}

#endif
