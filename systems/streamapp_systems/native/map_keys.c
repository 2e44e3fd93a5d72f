#include "map_keys.h"

#include <stdlib.h>

enum { FEW_KEYS = 12, MOST_PROBES = 32 };

static const uint8_t *key_at(const struct column *keys, int64_t at, size_t *length)
{
    const int32_t *offsets = (const int32_t *)(const void *)keys->values;
    if (keys->layout == LAYOUT_FIXED) {
        *length = keys->width;
        return keys->values + at * keys->width;
    }
    *length = (size_t)(offsets[at + 1] - offsets[at]);
    return keys->data + offsets[at];
}

static bool same_keys(const struct column *keys, int64_t first, int64_t second)
{
    size_t one, other;
    const uint8_t *begin = key_at(keys, first, &one), *second_begin = key_at(keys, second, &other);
    return one == other && (one == 0 || memcmp(begin, second_begin, one) == 0);
}

enum key_answer keys_differ(struct key_slots *room, const struct column *keys, int64_t first)
{
    size_t slots, mask;
    if (keys->length - first <= FEW_KEYS) {
        for (int64_t i = first + 1; i < keys->length; i++)
            for (int64_t j = first; j < i; j++)
                if (same_keys(keys, i, j))
                    return KEYS_UNSURE;
        return KEYS_DIFFER;
    }
    for (slots = 32; slots < 2 * (size_t)(keys->length - first);)
        slots *= 2;
    mask = slots - 1;
    if (slots > room->count) {
        free(room->slots);
        room->slots = malloc(slots * sizeof *room->slots);
        room->count = room->slots ? slots : 0;
        if (!room->slots)
            return KEYS_NO_MEMORY;
    }
    memset(room->slots, 0xff, slots * sizeof *room->slots);
    for (int64_t i = first; i < keys->length; i++) {
        size_t length, probes = 0;
        const uint8_t *key = key_at(keys, i, &length);
        uint64_t hash = UINT64_C(14695981039346656037);
        for (size_t at = 0; at < length; at++)
            hash = (hash ^ key[at]) * UINT64_C(1099511628211);
        size_t slot = (size_t)(hash ^ hash >> 32) & mask;
        for (; room->slots[slot] >= 0; slot = (slot + 1) & mask)
            if (probes++ == MOST_PROBES || same_keys(keys, i, room->slots[slot]))
                return KEYS_UNSURE;
        room->slots[slot] = (int32_t)i;
    }
    return KEYS_DIFFER;
}
