/* Numbers for keys, which are any bytes: the first key is number 0. */
#ifndef KEY_GROUPS_H
#define KEY_GROUPS_H

#include "row_columns.h"

struct key_groups;

/* Return groups without a key; NULL where there is no memory. The seed keeps others from choosing keys that collide. */
struct key_groups *streamapp_new_groups(uint64_t seed);
void streamapp_free_groups(struct key_groups *groups);

/* Set the number of each key, none null; keys that are new get the next ones. Return how many keys there are then, or -1
   where there is no memory: groups are as before then, or have some of the keys. */
int64_t streamapp_number_keys(struct key_groups *groups, const struct binary_column *keys, int64_t *numbers);

/* Set `offsets` (count + 1) to where the keys of these numbers begin and end; return how many bytes they take, or -1 if a
   number is none, or if Arrow's offsets can't count them. */
int64_t streamapp_measure_keys(const struct key_groups *groups, const int64_t *numbers, int64_t count, int32_t *offsets);

/* Copy the keys of these numbers to their offsets. */
void streamapp_copy_keys(const struct key_groups *groups, const int64_t *numbers, int64_t count, const int32_t *offsets,
                         uint8_t *into);

/* Set `order` to the places of the texts in the order of their bytes, equal ones in the order in which they are. Return
   false where there is no memory. */
int32_t streamapp_order_bytes(const struct binary_column *texts, int64_t *order);

#endif
