/* Messages of Protobuf as Arrow columns. A program says how to read them: a step for each field that a column has, made
   for the columns. Fields that no step has the number of are passed over. */
#ifndef PROTO_DECODING_H
#define PROTO_DECODING_H

#include "message_decoding.h"

enum proto_kind {
    PROTO_NOTHING,      /* no field: a column that no message has */
    PROTO_PASS,         /* a field that no column has, but others of its oneof */
    PROTO_PASS_TEXT,    /* the same, UTF-8 */
    PROTO_BOOLEAN,
    PROTO_INT32,
    PROTO_INT64,
    PROTO_DECIMAL,      /* whole numbers, multiplied by `factor` */
    PROTO_FLOAT,
    PROTO_FLOAT_DOUBLE, /* floats for a column of doubles */
    PROTO_DOUBLE,
    PROTO_ENUM,         /* the names of numbers: `count` texts, of which `first` is the first, their numbers rising */
    PROTO_TEXT,
    PROTO_BINARY,
    PROTO_TIMESTAMP,    /* a message of seconds and nanoseconds */
    PROTO_MESSAGE,      /* a struct of `count` steps, by their fields' numbers, which rise */
    PROTO_WRAPPER,      /* a message whose one step fills the column */
    PROTO_ENTRY,        /* a message in the list of a map: a key and a value */
};

/* How a number stands on the wire. */
enum proto_form {
    FORM_BYTES,
    FORM_BOOL,
    FORM_INT32,
    FORM_INT64,
    FORM_UINT32,
    FORM_UINT64,
    FORM_SINT32,
    FORM_SINT64,
    FORM_FIXED32,
    FORM_FIXED64,
    FORM_SFIXED32,
    FORM_SFIXED64,
};

/* What stands before a field: how its end is found. */
enum wire { WIRE_NUMBER, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* What a column has where a message has no such field. */
enum proto_absence { ABSENT_NOTHING, ABSENT_NULL, ABSENT_DEFAULT, ABSENT_EMPTY };

/* Values are appended to `column`, those of repeated fields to the one below `list`, which is negative for others. Of
   fields with the same `oneof`, which is 0 or up to 63, a message has one. `standard` is a number as on the wire, or the
   place of a text. The steps below one stand next to each other, behind it. */
struct proto_step {
    int32_t kind, form, wire, number, column, list, oneof, absence, first, count;
    uint64_t standard, factor[2];
};

struct proto_program {
    const struct proto_step *steps; /* the first one is the message itself */
    const struct column_shape *shapes;
    int64_t shape_count;
    const uint8_t *texts;
    const int64_t *text_ends; /* where each text ends, behind where the first one begins */
    const int32_t *text_numbers;
};

enum { MOST_FIELDS = 256 };

/* See `messages_decode`. */
int64_t streamapp_decode_proto(const struct proto_program *program, const struct messages *messages, uint8_t *status,
                               struct ArrowArray *into);

#endif
