/* Values of Avro that have no others inside, and what stands before them. Each function returns the place behind what it
   has read, or NULL where it isn't sure of it. */
#ifndef AVRO_VALUES_H
#define AVRO_VALUES_H

#include "avro_decoding.h"
#include "map_keys.h"
#include "varints.h"

struct avro_decoder {
    struct row_reader rows; /* the first member, by which one is known for the other */
    const struct avro_program *program;
    struct key_slots slots;
};

/* Read a value into a column, which has room for one more. */
const uint8_t *avro_read_plain(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at);

static inline const uint8_t *avro_no_memory(struct avro_decoder *decoder)
{
    decoder->rows.error = ERROR_MEMORY;
    return NULL;
}

/* Step over a whole number: a varint whose lowest bit is the sign. */
static inline const uint8_t *avro_read_number(const uint8_t *at, const uint8_t *end, int64_t *value)
{
    uint64_t bits;
    if ((at = read_varint(at, end, &bits)))
        *value = (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
    return at;
}

static inline const uint8_t *avro_pass(const uint8_t *at, const uint8_t *end, int64_t length)
{
    return length >= 0 && length <= end - at ? at + length : NULL;
}

#endif
