/* Parts of messages of Protobuf. Each function returns the place behind what it has read, or NULL where it isn't sure. */
#ifndef PROTO_VALUES_H
#define PROTO_VALUES_H

#include "map_keys.h"
#include "proto_decoding.h"
#include "varints.h"

struct proto_decoder {
    struct row_reader rows; /* the first member, by which one is known for the other */
    const struct proto_program *program;
    struct key_slots slots;
};

/* Append a number as it stood on the wire to the step's column, which has room; false where that isn't sure. */
bool proto_append_number(struct proto_decoder *decoder, const struct proto_step *step, uint64_t raw);

/* Append a text of the program to the step's column, which has room. */
bool proto_append_text(struct proto_decoder *decoder, const struct proto_step *step, uint64_t place);

/* Read all of a message of seconds and nanoseconds as microseconds. */
bool proto_read_timestamp(const uint8_t *at, const uint8_t *end, int64_t *micros);

/* Step over what stands before a field: its number and how it stands on the wire. */
static inline const uint8_t *proto_read_tag(const uint8_t *at, const uint8_t *end, int32_t *number, enum wire *wire)
{
    uint64_t tag;
    if (at < end && *at < 0x80) {
        *number = *at >> 3;
        *wire = (enum wire)(*at & 7);
        return *at < 8 ? NULL : at + 1;
    }
    at = read_varint(at, end, &tag);
    if (!at || tag > UINT32_MAX || tag < 8 || at[-1] == 0)
        return NULL;
    *number = (int32_t)(tag >> 3);
    *wire = (enum wire)(tag & 7);
    return at;
}

/* Read a number, or the length of bytes, as it stands on the wire. */
static inline const uint8_t *proto_read_raw(enum wire wire, const uint8_t *at, const uint8_t *end, uint64_t *raw)
{
    const uint8_t *begin = at;
    uint32_t narrow;
    switch (wire) {
    case WIRE_NUMBER:
        return read_varint(at, end, raw);
    case WIRE_BYTES:
        at = read_varint(at, end, raw);
        return at && at - begin > 1 && at[-1] == 0 ? NULL : at; /* longer than it has to be */
    case WIRE_64:
        if (end - at < 8)
            return NULL;
        memcpy(raw, at, 8);
        return at + 8;
    case WIRE_32:
        if (end - at < 4)
            return NULL;
        memcpy(&narrow, at, 4);
        *raw = narrow;
        return at + 4;
    default:
        return NULL;
    }
}

#endif
