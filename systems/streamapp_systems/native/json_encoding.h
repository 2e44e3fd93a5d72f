/* Rows as JSON objects, from Arrow's buffers into those of a column of texts. */
#ifndef JSON_ENCODING_H
#define JSON_ENCODING_H

#include <stdint.h>

/* How values are written: a text with quotes and escapes, a text that is JSON already, or in quotes is; a bit as a
   boolean; a whole number; days since 1970 as a date; microseconds since then as a time, in UTC or of no zone. */
enum json_kind {
    JSON_TEXT, JSON_WRITTEN, JSON_WRITTEN_IN_QUOTES, JSON_BOOLEAN,
    JSON_INT8, JSON_INT16, JSON_INT32, JSON_INT64, JSON_DAYS, JSON_MICROS, JSON_MICROS_IN_UTC
};

/* A column, from its value at `first` on, and the `name_size` bytes that stand before each value. Without `validity` no
   value is null. `values` are offsets of texts into `size` bytes of `data`, or the values themselves. */
struct json_column {
    const uint8_t *name;
    int64_t name_size;
    int64_t kind;
    const uint8_t *validity;
    const void *values;
    const uint8_t *data;
    int64_t first, size;
};

enum { JSON_MALFORMED = -1, JSON_NO_ROOM = -2, JSON_BEYOND_YEARS = -3 };

/* Write an object for each row: into `offsets` (one more than rows) and `capacity` bytes of `into`. Return the bytes that
   were written; JSON_MALFORMED where offsets leave the data or a kind is none, JSON_NO_ROOM where all does not fit, and
   JSON_BEYOND_YEARS where a time is not of the years 0 to 9999. */
int64_t streamapp_encode_json(const struct json_column *columns, int64_t column_count, int64_t rows,
                              int32_t *offsets, uint8_t *into, int64_t capacity);

#endif
