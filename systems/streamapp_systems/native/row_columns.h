/* Rows of plain values as MessagePack, from columns and back: keys and values of state. */
#ifndef ROW_COLUMNS_H
#define ROW_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

enum row_kind { ROW_SKIPPED, ROW_BOOLEAN, ROW_INTEGER, ROW_NUMBER, ROW_TEXT, ROW_BYTES, ROW_ENCODED };

/* A column as Arrow has it, from its value `first` on: `validity` is bits or NULL; booleans are bits, whole numbers int64,
   others double, texts and bytes `offsets` and what these are in. Encoded values, any number of them in a row, are what
   texts have behind their first `skipped` bytes; no text is shorter. */
struct row_column {
    int64_t kind, first, skipped;
    const uint8_t *validity;
    const void *values;
    const int32_t *offsets;
};

/* A column to decode into: a byte for each value says whether it is there. Whole numbers, booleans as well, and others
   take 8 bytes each; texts and bytes two int64, the place where they begin in the data and their length. */
struct row_values {
    int64_t kind;
    uint8_t *present;
    void *values;
};

/* Texts of bytes as Arrow has them, from the one at `first` on; `validity` may be NULL, offsets and data never are. */
struct binary_column {
    int64_t length, first;
    const uint8_t *validity;
    const int32_t *offsets;
    const uint8_t *data;
};

/* Rows to encode: `columns` give them `values` values each; `prefix` bytes of its own stand before each row. */
struct encoded_rows {
    const struct row_column *columns;
    int64_t count, rows, values, prefix;
    const uint8_t *prefixes;
};

/* Set `offsets` (rows + 1) to where rows begin and end. Return the number of bytes of all, or -1 where these are more than
   Arrow's offsets can count. */
int64_t streamapp_measure_rows(const struct encoded_rows *rows, int32_t *offsets);

/* Write rows to their offsets. */
void streamapp_encode_rows(const struct encoded_rows *rows, const int32_t *offsets, uint8_t *into);

/* Decode rows, none null, of `count` values each. Return their number, or that of the first one that is anything else. */
int64_t streamapp_decode_rows(const struct binary_column *rows, const struct row_values *columns, int64_t count);

#endif
