/* Keys of maps, texts or whole numbers, that differ. */
#ifndef MAP_KEYS_H
#define MAP_KEYS_H

#include "arrow_columns.h"

/* Room for the keys of one map, kept for the next one; freed by who has it. */
struct key_slots {
    int32_t *slots;
    size_t count;
};

enum key_answer { KEYS_DIFFER, KEYS_UNSURE, KEYS_NO_MEMORY };

/* Return whether no value of a column, of texts or of a fixed width, from a place on is there twice, as far as that can be found soon. */
enum key_answer keys_differ(struct key_slots *room, const struct column *keys, int64_t first);

#endif
