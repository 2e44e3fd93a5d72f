#include "kafka_reading.h"

#include <string.h>

enum { LENGTH_BYTES = 4, FETCH_EVENT = 2, ERROR_EVENT = 8 };

/* Bytes of one column at which a run ends: several fit into a column, whose offsets have 31 bits. */
static const int64_t RUN_BYTES = (int64_t)1 << 29;

static int64_t bytes_of(const void *data, size_t size) {
    return data == NULL ? 0 : size > INT32_MAX ? INT32_MAX : (int64_t)size;
}

/* Return the bytes of a message's headers as they are copied: a length and the name, a length and the value. */
static int64_t header_bytes(const struct reading_functions *kafka, const struct kafka_message *message) {
    void *headers;
    if (kafka->message_headers(message, &headers) != 0) return 0;
    int64_t bytes = 0;
    const char *name;
    const void *value;
    size_t size;
    for (size_t at = 0; kafka->header_get_all(headers, at, &name, &value, &size) == 0; at++) {
        bytes += 2 * LENGTH_BYTES + bytes_of(name, strlen(name)) + bytes_of(value, size);
        if (bytes > INT32_MAX) return INT32_MAX;
    }
    return bytes;
}

static struct message_run run_of_message(const struct reading_functions *kafka, const struct kafka_message *message,
                                         const char *topic) {
    return (struct message_run){
        .topic = topic,
        .partition = message->partition,
        .count = 1,
        .key_bytes = bytes_of(message->key, message->key_size),
        .value_bytes = bytes_of(message->payload, message->payload_size),
        .header_bytes = header_bytes(kafka, message),
        .null_keys = message->key == NULL,
        .null_values = message->payload == NULL,
    };
}

static struct message_run run_of_error(const struct reading_functions *kafka, struct taken_event *taken) {
    struct message_run run = {.partition = -1, .count = 1};
    run.error = kafka->event_error(taken->event);
    run.reason = kafka->event_error_string(taken->event);
    taken->place = kafka->event_topic_partition(taken->event);
    if (taken->place != NULL) {
        run.topic = taken->place->topic;
        run.partition = taken->place->partition;
        run.offset = taken->place->offset;
    }
    return run;
}

static int continues(const struct message_run *run, const struct message_run *next) {
    return run->error == 0 && next->error == 0 && run->topic == next->topic && run->partition == next->partition &&
           run->key_bytes + next->key_bytes <= RUN_BYTES && run->value_bytes + next->value_bytes <= RUN_BYTES &&
           run->header_bytes + next->header_bytes <= RUN_BYTES;
}

int64_t streamapp_take_messages(const struct reading_functions *kafka, void *queue, int timeout_ms,
                                struct taken_event *taken, int64_t most, struct message_run *runs,
                                int64_t *run_count) {
    struct message_run *run = NULL;
    const void *topic = NULL;
    const char *name = NULL;
    int64_t count = 0;
    *run_count = 0;
    while (count < most) {
        void *event = kafka->queue_poll(queue, count == 0 ? timeout_ms : 0);
        if (event == NULL) break;
        int type = kafka->event_type(event);
        const struct kafka_message *message = type == FETCH_EVENT ? kafka->event_message_next(event) : NULL;
        if (message == NULL && type != ERROR_EVENT) {
            kafka->event_destroy(event);
            continue;
        }
        taken[count] = (struct taken_event){.event = event, .message = message};
        struct message_run next;
        if (message == NULL) {
            next = run_of_error(kafka, &taken[count]);
        } else {
            if (message->topic != topic || name == NULL) {
                topic = message->topic;
                name = kafka->topic_name(topic);
            }
            next = run_of_message(kafka, message, name);
            next.error = message->error;
            next.offset = message->offset;
        }
        next.first = count++;
        if (run != NULL && message != NULL && continues(run, &next)) {
            run->count += 1;
            run->key_bytes += next.key_bytes;
            run->value_bytes += next.value_bytes;
            run->header_bytes += next.header_bytes;
            run->null_keys += next.null_keys;
            run->null_values += next.null_values;
        } else {
            run = &runs[(*run_count)++];
            *run = next;
        }
    }
    return count;
}

/* Return the place of so many more bytes in a row's value; NULL if they do not fit. */
static uint8_t *extend(const struct filled_column *column, int64_t row, size_t size) {
    int64_t end = column->offsets[row + 1];
    if (end < 0 || end > column->capacity || column->capacity > INT32_MAX) return NULL;
    if (size > (size_t)(column->capacity - end)) return NULL;
    column->offsets[row + 1] = (int32_t)(end + (int64_t)size);
    return column->data + end;
}

static int append(const struct filled_column *column, int64_t row, const void *data, size_t size) {
    column->offsets[row + 1] = column->offsets[row];
    if (data == NULL) return column->validity == NULL ? NO_ROOM : 0;
    uint8_t *place = extend(column, row, size);
    if (place == NULL) return NO_ROOM;
    if (size != 0) memcpy(place, data, size);
    if (column->validity != NULL) column->validity[row / 8] |= (uint8_t)(1u << (row % 8));
    return 0;
}

/* Append a length, the lowest byte first, and so many bytes; -1 and nothing for NULL. */
static int append_part(const struct filled_column *column, int64_t row, const void *data, size_t size) {
    if (size > INT32_MAX) return NO_ROOM;
    uint32_t told = data == NULL ? UINT32_MAX : (uint32_t)size;
    uint8_t *place = extend(column, row, LENGTH_BYTES + (data == NULL ? 0 : size));
    if (place == NULL) return NO_ROOM;
    for (int at = 0; at < LENGTH_BYTES; at++) place[at] = (uint8_t)(told >> (8 * at));
    if (data != NULL && size != 0) memcpy(place + LENGTH_BYTES, data, size);
    return 0;
}

static int append_headers(const struct reading_functions *kafka, const struct kafka_message *message,
                          const struct filled_column *column, int64_t row) {
    column->offsets[row + 1] = column->offsets[row];
    void *headers;
    if (kafka->message_headers(message, &headers) != 0) return 0;
    const char *name;
    const void *value;
    size_t size;
    for (size_t at = 0; kafka->header_get_all(headers, at, &name, &value, &size) == 0; at++) {
        int error = append_part(column, row, name, strlen(name));
        if (error == 0) error = append_part(column, row, value, size);
        if (error != 0) return error;
    }
    return 0;
}

int streamapp_copy_messages(const struct reading_functions *kafka, const struct taken_event *taken, int64_t count,
                            const struct message_columns *columns, int64_t row) {
    if (row < 0 || count < 0 || row > columns->rows || count > columns->rows - row) return NO_ROOM;
    for (int64_t at = 0; at < count; at++, row++) {
        const struct kafka_message *message = taken[at].message;
        int kind;
        columns->offsets[row] = message->offset;
        columns->timestamps[row] = kafka->message_timestamp(message, &kind);
        int error = append(&columns->keys, row, message->key, message->key_size);
        if (error == 0) error = append(&columns->values, row, message->payload, message->payload_size);
        if (error == 0 && columns->headers.offsets != NULL) {
            error = append_headers(kafka, message, &columns->headers, row);
        }
        if (error != 0) return error;
    }
    return 0;
}

void streamapp_release_messages(const struct reading_functions *kafka, struct taken_event *taken, int64_t count) {
    for (int64_t at = 0; at < count; at++) {
        if (taken[at].place != NULL) kafka->topic_partition_destroy(taken[at].place);
        kafka->event_destroy(taken[at].event);
    }
}
