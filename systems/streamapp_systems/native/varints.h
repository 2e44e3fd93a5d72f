/* Whole numbers of seven bits a byte, the lowest first, as Avro and Protobuf have them. */
#ifndef VARINTS_H
#define VARINTS_H

#include <stddef.h>
#include <stdint.h>

/* Step over a number of 64 bits at the most; NULL where it has no end, or has more. */
static inline const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t bits = 0;
    uint8_t byte;
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    for (unsigned shift = 0;; shift += 7) {
        if (at == end)
            return NULL;
        byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    *value = bits;
    return at;
}

#endif
