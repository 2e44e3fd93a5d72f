/* Records of librdkafka's queues, copied into Arrow's buffers without an object for each. */
#ifndef KAFKA_READING_H
#define KAFKA_READING_H

#include <stddef.h>
#include <stdint.h>

/* `rd_kafka_message_t` of librdkafka 1 and 2. */
struct kafka_message {
    int32_t error;
    void *topic;
    int32_t partition;
    void *payload;
    size_t payload_size;
    void *key;
    size_t key_size;
    int64_t offset;
    void *client;
};

/* The beginning of `rd_kafka_topic_partition_t`. */
struct kafka_place {
    const char *topic;
    int32_t partition;
    int64_t offset;
};

/* What is needed of librdkafka, by the addresses of its functions in this process. Its functions that return messages
   call Python for some errors, without what Python needs to be called; as events these are returned, too. */
struct reading_functions {
    void *(*queue_poll)(void *queue, int timeout_ms);
    int (*event_type)(const void *event);
    const struct kafka_message *(*event_message_next)(void *event);
    int32_t (*event_error)(void *event);
    const char *(*event_error_string)(void *event);
    struct kafka_place *(*event_topic_partition)(void *event);
    void (*event_destroy)(void *event);
    void (*topic_partition_destroy)(struct kafka_place *place);
    int64_t (*message_timestamp)(const struct kafka_message *message, int *kind);
    int (*message_headers)(const struct kafka_message *message, void **headers);
    int (*header_get_all)(const void *headers, size_t at, const char **name, const void **value, size_t *size);
    const char *(*topic_name)(const void *topic);
};

/* An event that was taken, with its message; or with the place of its error, if that is of a partition. */
struct taken_event {
    void *event;
    const struct kafka_message *message;
    struct kafka_place *place;
};

/* Neighbouring messages of one partition; or one error, and why. Texts are good until the events are released; the
   topic may be NULL. */
struct message_run {
    const char *topic, *reason;
    int64_t offset, first, count, key_bytes, value_bytes, header_bytes, null_keys, null_values;
    int32_t partition, error;
};

/* A column of Arrow's binary type that is filled: `offsets` has room for one more than the rows, and begins with 0;
   `validity`, all 0 at first, may be NULL where no value is. */
struct filled_column {
    int32_t *offsets;
    uint8_t *data, *validity;
    int64_t capacity;
};

/* The columns of messages; `headers` has no `offsets` where no message has any. */
struct message_columns {
    int64_t rows;
    int64_t *offsets, *timestamps;
    struct filled_column keys, values, headers;
};

enum { NO_ROOM = -1 };

/* Take up to `most` events from a queue, of which the first one is waited for so long, and return their number. `runs`
   has room for `most`, too. */
int64_t streamapp_take_messages(const struct reading_functions *kafka, void *queue, int timeout_ms,
                                struct taken_event *taken, int64_t most, struct message_run *runs, int64_t *run_count);

/* Copy messages behind those that fill the columns below `row`; NO_ROOM if they do not fit. */
int streamapp_copy_messages(const struct reading_functions *kafka, const struct taken_event *taken, int64_t count,
                            const struct message_columns *columns, int64_t row);

/* Give events back to librdkafka. */
void streamapp_release_messages(const struct reading_functions *kafka, struct taken_event *taken, int64_t count);

#endif
