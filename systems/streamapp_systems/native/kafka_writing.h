/* Records in Arrow's buffers, handed to librdkafka without an object for each. */
#ifndef KAFKA_WRITING_H
#define KAFKA_WRITING_H

#include <stdint.h>

/* What is needed of librdkafka: its functions of these names, by their addresses in this process. */
struct librdkafka {
    int (*producev)(void *client, ...);
    void *(*topic_new)(void *client, const char *topic, void *settings);
    void (*topic_destroy)(void *topic);
};

/* A column of Arrow's binary type, from its value at `first` on. Without `validity` no value is null; without `data` all
   are empty. `data` has `size` bytes. */
struct binary_column {
    const uint8_t *validity;
    const int32_t *offsets;
    const uint8_t *data;
    int64_t first, size;
};

enum { MALFORMED_COLUMN = -1 };

/* Hand records to a client, which copies them, and return how many it took before it refused one; MALFORMED_COLUMN
   instead where offsets leave the data. Without `timestamps` all have that of `now`; those before 1970, which Kafka does
   not know, become 1. */
int64_t streamapp_produce(const struct librdkafka *kafka, void *client, const char *topic, int32_t partition,
                          const struct binary_column *keys, const struct binary_column *values,
                          const int64_t *timestamps, int64_t now, int64_t count);

#endif
