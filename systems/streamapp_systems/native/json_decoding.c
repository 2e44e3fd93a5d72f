#include "json_decoding.h"

#include <stdlib.h>

#include "json_reading.h"

enum { MORE_NAMES = 64 };

static void set_layout(struct column *column, int32_t kind)
{
    static const uint8_t widths[] = {
        [KIND_INT8] = 1,  [KIND_INT16] = 2,  [KIND_INT32] = 4,    [KIND_INT64] = 8, [KIND_EPOCH] = 8,
        [KIND_FLOAT] = 4, [KIND_DOUBLE] = 8, [KIND_DECIMAL] = 16, [KIND_DATE] = 4,  [KIND_CLOCK] = 8,
        [KIND_TIMESTAMP] = 8,
    };
    switch (kind) {
    case KIND_BOOL:
        column->layout = LAYOUT_BITS;
        break;
    case KIND_TEXT:
    case KIND_JSON:
        column->layout = LAYOUT_TEXT;
        break;
    case KIND_LIST:
    case KIND_MAP:
        column->layout = LAYOUT_LIST;
        break;
    case KIND_STRUCT:
        column->layout = LAYOUT_STRUCT;
        break;
    default:
        column->layout = LAYOUT_FIXED;
        column->width = widths[kind];
    }
}

/* Make readers and columns of all nodes, with room for rows; false where there is no memory. */
static bool prepare(struct decoder *decoder, int64_t rows)
{
    const struct json_schema *schema = decoder->schema;
    decoder->readers = calloc((size_t)schema->node_count, sizeof *decoder->readers);
    decoder->columns = calloc((size_t)schema->node_count, sizeof *decoder->columns);
    if (!decoder->readers || !decoder->columns)
        return false;
    for (int64_t i = 0; i < schema->node_count; i++) {
        const struct json_node *node = &schema->nodes[i];
        struct reader *reader = &decoder->readers[i];
        struct column *column = &decoder->columns[i];
        *reader = (struct reader){node, column, decoder->readers + node->first_child, NULL, 0, 0};
        column->children = decoder->columns + node->first_child;
        column->child_count = node->child_count;
        column->left_out = node->left_out;
        set_layout(column, node->kind);
        if (!column->left_out && !column_grow(column, rows + 1))
            return false;
        if (node->kind != KIND_STRUCT)
            continue;
        reader->name_capacity = (size_t)node->child_count + MORE_NAMES;
        reader->names = malloc(reader->name_capacity * sizeof *reader->names);
        if (!reader->names)
            return false;
    }
    return true;
}

static void forget(struct decoder *decoder)
{
    for (int64_t i = 0; decoder->readers && i < decoder->schema->node_count; i++)
        free(decoder->readers[i].names);
    if (decoder->columns)
        column_free(&decoder->columns[0]);
    free(decoder->readers);
    free(decoder->columns);
    free(decoder->slots);
}

/* Read one message; false, and no row of it is left, where that isn't sure. */
static bool read_message(struct decoder *decoder, const uint8_t *begin, const uint8_t *end)
{
    struct reader *root = &decoder->readers[0];
    int64_t rows = root->column->length;
    decoder->in.end = end;
    const uint8_t *at = json_skip_space(begin, end);
    at = at < end && *at == '{' ? json_read_object(decoder, root, at) : NULL;
    if (at && json_skip_space(at, end) == end)
        return true;
    if (!decoder->out_of_memory)
        column_truncate(root->column, rows);
    return false;
}

static bool has_value(const uint8_t *validity, int64_t at) { return !validity || validity[at >> 3] >> (at & 7) & 1; }

int64_t streamapp_decode_json(const struct json_schema *schema, const uint8_t *data, int64_t data_length,
                              const int32_t *offsets, const uint8_t *validity, int64_t validity_at, int64_t count,
                              uint8_t *status, struct ArrowArray *into)
{
    struct decoder decoder = {.schema = schema, .in.readable = data + data_length};
    int64_t rows = ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i] || offsets[i + 1] > data_length)
            return ERROR_OFFSETS;
    decoder.out_of_memory = !prepare(&decoder, count);
    for (int64_t i = 0; i < count && !decoder.out_of_memory; i++) {
        if (!has_value(validity, validity_at + i))
            status[i] = STATUS_NO_VALUE;
        else
            status[i] = read_message(&decoder, data + offsets[i], data + offsets[i + 1]) ? STATUS_ROW : STATUS_UNSURE;
    }
    if (!decoder.out_of_memory) {
        int64_t found = decoder.columns[0].length;
        if (column_export(&decoder.columns[0], into))
            rows = found;
    }
    forget(&decoder);
    return rows;
}
