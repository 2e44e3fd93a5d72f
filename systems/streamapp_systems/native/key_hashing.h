/* Kafka's murmur2, of the values of a column. */
#ifndef KEY_HASHING_H
#define KEY_HASHING_H

#include <stdint.h>

/* Hash `count` values of a large binary column of Arrow, from that at `first` on; the hash of null is 0. Without `validity`
   no value is null; `data` has `size` bytes. Return 0, or -1 where offsets leave the data. */
int64_t streamapp_murmur2(const uint8_t *validity, const int64_t *offsets, const uint8_t *data, int64_t size,
                          int64_t first, int64_t count, uint32_t *hashes);

#endif
