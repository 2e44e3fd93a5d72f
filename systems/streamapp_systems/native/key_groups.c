#include "key_groups.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A key: where it begins in `bytes`, its length, and its hash, which saves most comparisons. */
struct key {
    size_t begin;
    uint64_t hash;
    uint32_t length;
};

/* `places` has the number of a key plus 1 at the place of its hash, or the next free one; at most half are taken. */
struct key_groups {
    uint64_t seed;
    int64_t count, capacity;
    struct key *keys;
    size_t bytes_used, bytes_capacity;
    uint8_t *bytes;
    size_t mask;
    uint32_t *places;
};

enum { FIRST_KEYS = 1024, MOST_KEYS = 1 << 30 };

static uint64_t mix(uint64_t left, uint64_t right)
{
    uint64_t low_left = left & UINT32_MAX, high_left = left >> 32, low_right = right & UINT32_MAX, high_right = right >> 32;
    uint64_t cross = high_left * low_right + (low_left * low_right >> 32);
    uint64_t other = low_left * high_right + (cross & UINT32_MAX);
    return left * right ^ (high_left * high_right + (cross >> 32) + (other >> 32));
}

static uint64_t load(const uint8_t *from, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, from, width);
    return value;
}

/* As wyhash does: words are folded by multiplication, with a seed that nobody outside knows. */
static uint64_t hash_of(uint64_t seed, const uint8_t *key, size_t length)
{
    const uint64_t odd = 0xa0761d6478bd642f, other = 0xe7037ed1a0b428db;
    uint64_t hash = seed ^ odd;
    size_t at = 0;
    for (; length - at > 16; at += 16)
        hash = mix(load(key + at, 8) ^ odd ^ seed, load(key + at + 8, 8) ^ hash);
    size_t first = length - at < 8 ? length - at : 8;
    uint64_t left = load(key + at, first), right = load(key + at + first, length - at - first);
    return mix(other ^ length, mix(left ^ odd ^ seed, right ^ hash));
}

struct key_groups *streamapp_new_groups(uint64_t seed)
{
    struct key_groups *groups = calloc(1, sizeof *groups);
    if (!groups)
        return NULL;
    groups->seed = seed;
    groups->capacity = FIRST_KEYS;
    groups->bytes_capacity = FIRST_KEYS;
    groups->mask = 2 * FIRST_KEYS - 1;
    groups->keys = malloc(FIRST_KEYS * sizeof *groups->keys);
    groups->bytes = malloc(FIRST_KEYS);
    groups->places = calloc(2 * FIRST_KEYS, sizeof *groups->places);
    if (groups->keys && groups->bytes && groups->places)
        return groups;
    streamapp_free_groups(groups);
    return NULL;
}

void streamapp_free_groups(struct key_groups *groups)
{
    if (!groups)
        return;
    free(groups->keys);
    free(groups->bytes);
    free(groups->places);
    free(groups);
}

static bool grow_keys(struct key_groups *groups)
{
    if (groups->capacity >= MOST_KEYS)
        return false;
    size_t capacity = 2 * (size_t)groups->capacity, mask = 2 * capacity - 1;
    struct key *keys = realloc(groups->keys, capacity * sizeof *keys);
    if (keys)
        groups->keys = keys;
    uint32_t *places = calloc(2 * capacity, sizeof *places);
    if (!keys || !places) {
        free(places);
        return false;
    }
    for (int64_t number = 0; number < groups->count; number++) {
        size_t place = keys[number].hash & mask;
        while (places[place])
            place = (place + 1) & mask;
        places[place] = (uint32_t)number + 1;
    }
    free(groups->places);
    groups->places = places;
    groups->mask = mask;
    groups->capacity = (int64_t)capacity;
    return true;
}

static bool reserve_bytes(struct key_groups *groups, size_t more)
{
    size_t needed = groups->bytes_used + more, capacity = groups->bytes_capacity;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > groups->bytes_capacity) {
        uint8_t *bytes = realloc(groups->bytes, capacity);
        if (!bytes)
            return false;
        groups->bytes = bytes;
        groups->bytes_capacity = capacity;
    }
    return true;
}

/* Return the number of a key, which is added if it is new; -1 where there is no memory. */
static int64_t number_of(struct key_groups *groups, const uint8_t *key, uint32_t length)
{
    uint64_t hash = hash_of(groups->seed, key, length);
    size_t place = hash & groups->mask;
    for (; groups->places[place]; place = (place + 1) & groups->mask) {
        const struct key *found = &groups->keys[groups->places[place] - 1];
        if (found->hash == hash && found->length == length && !memcmp(groups->bytes + found->begin, key, length))
            return (int64_t)groups->places[place] - 1;
    }
    if (groups->count == groups->capacity) {
        if (!grow_keys(groups))
            return -1;
        for (place = hash & groups->mask; groups->places[place];)
            place = (place + 1) & groups->mask;
    }
    if (!reserve_bytes(groups, length))
        return -1;
    memcpy(groups->bytes + groups->bytes_used, key, length);
    groups->keys[groups->count] = (struct key){groups->bytes_used, hash, length};
    groups->bytes_used += length;
    groups->places[place] = (uint32_t)++groups->count;
    return groups->count - 1;
}

int64_t streamapp_number_keys(struct key_groups *groups, const struct binary_column *keys, int64_t *numbers)
{
    for (int64_t at = 0; at < keys->length; at++) {
        const int32_t *offsets = keys->offsets + keys->first + at;
        numbers[at] = number_of(groups, keys->data + offsets[0], (uint32_t)(offsets[1] - offsets[0]));
        if (numbers[at] < 0)
            return -1;
    }
    return groups->count;
}

int64_t streamapp_measure_keys(const struct key_groups *groups, const int64_t *numbers, int64_t count, int32_t *offsets)
{
    int64_t total = 0;
    offsets[0] = 0;
    for (int64_t at = 0; at < count; at++) {
        if (numbers[at] < 0 || numbers[at] >= groups->count)
            return -1;
        total += groups->keys[numbers[at]].length;
        if (total > INT32_MAX)
            return -1;
        offsets[at + 1] = (int32_t)total;
    }
    return total;
}

void streamapp_copy_keys(const struct key_groups *groups, const int64_t *numbers, int64_t count, const int32_t *offsets,
                         uint8_t *into)
{
    for (int64_t at = 0; at < count; at++) {
        const struct key *key = &groups->keys[numbers[at]];
        memcpy(into + offsets[at], groups->bytes + key->begin, key->length);
    }
}
