#include "json_reading.h"

static const uint8_t *read_value(struct decoder *decoder, struct reader *reader, const uint8_t *at);

static const uint8_t *read_list(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *end = decoder->in.end;
    bool more;
    for (at = json_enter(at, end, ']', &more); at && more; at = json_go_on(at, end, ']', &more))
        if (!(at = read_value(decoder, &reader->children[0], at)))
            return NULL;
    if (at)
        column_append_end(reader->column, reader->children[0].column->length);
    return at;
}

static const uint8_t *read_map(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *end = decoder->in.end;
    struct reader *entries = &reader->children[0], *keys = &entries->children[0], *values = &entries->children[1];
    int64_t first = entries->column->length;
    struct json_text text;
    bool more;
    for (at = json_enter(at, end, '}', &more); at && more; at = json_go_on(at, end, '}', &more)) {
        if (at >= end || *at != '"' || !(at = json_scan_text(&decoder->in, at + 1, &text)))
            return NULL;
        at = json_skip_space(at, end);
        if (at == end || *at != ':')
            return NULL;
        if (!column_reserve(entries->column) || !column_reserve(keys->column) ||
            !json_append_text(keys->column, &decoder->in, &text))
            return json_no_memory(decoder);
        if (!(at = read_value(decoder, values, json_skip_space(at + 1, end))))
            return NULL;
        column_end_value(entries->column);
    }
    if (!at)
        return NULL;
    enum key_answer answer = keys_differ(&decoder->slots, keys->column, first);
    if (answer != KEYS_DIFFER)
        return answer == KEYS_UNSURE ? NULL : json_no_memory(decoder);
    column_append_end(reader->column, entries->column->length);
    return at;
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t length)
{
    uint64_t x, y;
    if (length < sizeof x)
        return memcmp(a, b, length) == 0;
    for (size_t i = 0; i + sizeof x < length; i += sizeof x) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y)
            return false;
    }
    memcpy(&x, a + length - sizeof x, sizeof x);
    memcpy(&y, b + length - sizeof y, sizeof y);
    return x == y;
}

static struct reader *child_named(const struct decoder *decoder, struct reader *reader, const struct json_text *name)
{
    for (int32_t i = 0; i < reader->node->child_count; i++) {
        const struct json_node *node = reader->children[i].node;
        if ((size_t)node->name_length == name->length &&
            memcmp(decoder->schema->names + node->name, name->begin, name->length) == 0)
            return &reader->children[i];
    }
    return NULL;
}

/* Step over the name of a member and its colon, and find the child that it names, if any. `next` is the place of the
   name that is expected. Names are mostly those of earlier objects, in the same order. */
static const uint8_t *read_name(struct decoder *decoder, struct reader *reader, const uint8_t *at, size_t *next,
                                struct reader **child)
{
    size_t left = (size_t)(decoder->in.end - at), count = reader->name_count;
    for (size_t i = 0, place = *next; i < count; i++, place++) {
        if (place >= count)
            place = 0;
        const struct known_name *known = &reader->names[place];
        if (known->length <= left && same_bytes(at, known->begin, known->length)) {
            *next = place + 1;
            *child = known->child;
            return at + known->length;
        }
    }
    struct json_text name;
    const uint8_t *begin = at;
    if (left == 0 || *at != '"' || !(at = json_scan_text(&decoder->in, at + 1, &name)) || name.escaped)
        return NULL;
    at = json_skip_space(at, decoder->in.end);
    if (at == decoder->in.end || *at++ != ':')
        return NULL;
    *child = child_named(decoder, reader, &name);
    if (count < reader->name_capacity) {
        reader->names[reader->name_count++] = (struct known_name){begin, (size_t)(at - begin), *child};
        *next = count + 1;
    }
    return at;
}

const uint8_t *json_read_object(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *end = decoder->in.end;
    struct column *column = reader->column;
    int64_t length = column->length;
    size_t next = 0;
    int32_t found = 0;
    bool more;
    if (column->left_out)
        for (int32_t i = 0; i < column->child_count; i++)
            column->children[i].length = length;
    for (at = json_enter(at, end, '}', &more); at && more; at = json_go_on(at, end, '}', &more)) {
        struct reader *child;
        if (!(at = read_name(decoder, reader, at, &next, &child)))
            return NULL;
        at = json_skip_space(at, end);
        if (child && child->column->length != length)
            return NULL; /* it is there twice */
        at = child ? read_value(decoder, child, at) : json_skip_value(&decoder->in, at);
        if (!at)
            return NULL;
        found += child != NULL;
    }
    if (!at)
        return NULL;
    for (int32_t i = 0; found < column->child_count && i < column->child_count; i++)
        if (column->children[i].length == length) {
            if (!column_append_null(&column->children[i]))
                return json_no_memory(decoder);
            found++;
        }
    column_end_value(column);
    return at;
}

static const uint8_t *read_value(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *end = decoder->in.end;
    struct column *column = reader->column;
    if (at >= end)
        return NULL;
    if (!column_reserve(column))
        return json_no_memory(decoder);
    if (*at == 'n' && reader->node->kind != KIND_JSON) {
        at = json_skip_word(at, end, "null", 4);
        return at && !column_append_null(column) ? json_no_memory(decoder) : at;
    }
    switch (reader->node->kind) {
    case KIND_LIST:
        return *at == '[' ? read_list(decoder, reader, at) : NULL;
    case KIND_MAP:
        return *at == '{' ? read_map(decoder, reader, at) : NULL;
    case KIND_STRUCT:
        return *at == '{' ? json_read_object(decoder, reader, at) : NULL;
    default:
        return json_read_plain(decoder, reader, at);
    }
}
