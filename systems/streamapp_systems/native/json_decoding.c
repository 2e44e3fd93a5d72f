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
    decoder->rows.columns = calloc((size_t)schema->node_count, sizeof *decoder->rows.columns);
    if (!decoder->readers || !decoder->rows.columns)
        return false;
    for (int64_t i = 0; i < schema->node_count; i++) {
        const struct json_node *node = &schema->nodes[i];
        struct reader *reader = &decoder->readers[i];
        struct column *column = &decoder->rows.columns[i];
        *reader = (struct reader){node, column, decoder->readers + node->first_child, NULL, 0, 0};
        column->children = decoder->rows.columns + node->first_child;
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
    if (decoder->rows.columns)
        column_free(&decoder->rows.columns[0]);
    free(decoder->readers);
    free(decoder->rows.columns);
    free(decoder->slots.slots);
}

static bool read_message(struct row_reader *rows, const uint8_t *begin)
{
    struct decoder *decoder = (struct decoder *)rows;
    const uint8_t *end = rows->end;
    decoder->in = (struct json_bounds){end, rows->readable};
    const uint8_t *at = json_skip_space(begin, end);
    at = at < end && *at == '{' ? json_read_object(decoder, &decoder->readers[0], at) : NULL;
    return at && json_skip_space(at, end) == end;
}

int64_t streamapp_decode_json(const struct json_schema *schema, const struct messages *messages, uint8_t *status,
                              struct ArrowArray *into)
{
    struct decoder decoder = {.rows.read = read_message, .schema = schema};
    int64_t rows = ERROR_MEMORY;
    if (prepare(&decoder, messages->count))
        rows = messages_decode(messages, &decoder.rows, status, into);
    forget(&decoder);
    return rows;
}
