#include "kafka_writing.h"

#include <stdbool.h>
#include <stddef.h>

/* From rdkafka.h: kinds of arguments of rd_kafka_producev, and a flag of messages. */
enum { END = 0, TOPIC = 1, TOPIC_HANDLE = 2, PARTITION = 3, VALUE = 4, KEY = 5, FLAGS = 7, TIMESTAMP = 8 };
enum { COPY = 2 };

struct bytes {
    const void *start;
    size_t length;
};

/* An empty value is no null: it must have an address. */
static const uint8_t nothing[1];

static bool read_bytes(const struct binary_column *column, int64_t row, struct bytes *into)
{
    int64_t place = column->first + row;
    *into = (struct bytes){NULL, 0};
    if (column->validity != NULL && !(column->validity[place >> 3] >> (place & 7) & 1))
        return true;
    int64_t start = column->offsets[place], end = column->offsets[place + 1];
    if (start < 0 || end < start || end > column->size)
        return false;
    *into = (struct bytes){column->data == NULL ? nothing : column->data + start, (size_t)(end - start)};
    return true;
}

static bool is_well_formed(const struct binary_column *column, int64_t count)
{
    struct bytes ignored;
    for (int64_t row = 0; row < count; row++)
        if (!read_bytes(column, row, &ignored))
            return false;
    return true;
}

int64_t streamapp_produce(const struct librdkafka *kafka, void *client, const char *topic, int32_t partition,
                          const struct binary_column *keys, const struct binary_column *values,
                          const int64_t *timestamps, int64_t now, int64_t count)
{
    if (!is_well_formed(keys, count) || !is_well_formed(values, count))
        return MALFORMED_COLUMN;
    void *handle = NULL;
    int64_t taken = 0;
    for (int error = 0; taken < count; taken++) {
        struct bytes key, value;
        int64_t given = timestamps != NULL ? timestamps[taken] : now, time = given < 1 ? 1 : given;
        read_bytes(keys, taken, &key);
        read_bytes(values, taken, &value);
        if (handle != NULL)
            error = kafka->producev(client, FLAGS, COPY, TOPIC_HANDLE, handle, PARTITION, partition, KEY, key.start,
                                    key.length, VALUE, value.start, value.length, TIMESTAMP, time, END);
        else /* the client looks up a topic that it does not know yet as it always does */
            error = kafka->producev(client, FLAGS, COPY, TOPIC, topic, PARTITION, partition, KEY, key.start,
                                    key.length, VALUE, value.start, value.length, TIMESTAMP, time, END);
        if (error)
            break;
        if (handle == NULL && taken + 1 < count) /* without it, each record would look for the topic's name */
            handle = kafka->topic_new(client, topic, NULL);
    }
    if (handle != NULL)
        kafka->topic_destroy(handle);
    return taken;
}
