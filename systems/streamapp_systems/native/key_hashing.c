#include "key_hashing.h"

#include <stddef.h>

static const uint32_t SEED = 0x9747b28c, MULTIPLIER = 0x5bd1e995;

static uint32_t hash(const uint8_t *bytes, size_t length)
{
    uint32_t hash = SEED ^ (uint32_t)length;
    for (; length >= 4; length -= 4, bytes += 4) {
        uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        word *= MULTIPLIER;
        word ^= word >> 24;
        hash = (hash * MULTIPLIER) ^ (word * MULTIPLIER);
    }
    for (size_t place = length; place > 0; place--)
        hash ^= (uint32_t)bytes[place - 1] << (8 * (place - 1));
    if (length > 0)
        hash *= MULTIPLIER;
    hash ^= hash >> 13;
    hash *= MULTIPLIER;
    return hash ^ hash >> 15;
}

int64_t streamapp_murmur2(const uint8_t *validity, const int64_t *offsets, const uint8_t *data, int64_t size,
                          int64_t first, int64_t count, uint32_t *hashes)
{
    static const uint8_t nothing[1];
    for (int64_t row = 0; row < count; row++) {
        int64_t place = first + row, start = offsets[place], end = offsets[place + 1];
        if (validity != NULL && !(validity[place >> 3] >> (place & 7) & 1)) {
            hashes[row] = 0;
            continue;
        }
        if (start < 0 || end < start || end > size)
            return -1;
        hashes[row] = hash(data == NULL ? nothing : data + start, (size_t)(end - start));
    }
    return 0;
}
