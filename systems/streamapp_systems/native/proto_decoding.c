#include "proto_decoding.h"

#include <stdlib.h>

#include "proto_values.h"
#include "utf8.h"

/* What one message has had so far. */
struct found {
    uint64_t fields[MOST_FIELDS / 64], oneofs;
};

static const uint8_t *read_message(struct proto_decoder *decoder, const struct proto_step *step, const uint8_t *at,
                                   const uint8_t *end);

static bool no_memory(struct proto_decoder *decoder)
{
    decoder->rows.error = ERROR_MEMORY;
    return false;
}

static const uint8_t *pass(enum wire wire, const uint8_t *at, const uint8_t *end)
{
    uint64_t raw;
    at = proto_read_raw(wire, at, end, &raw);
    if (!at || wire != WIRE_BYTES)
        return at;
    return raw <= (uint64_t)(end - at) ? at + raw : NULL;
}

/* Read a value whose bytes are from `at` to `end`. */
static bool read_bytes(struct proto_decoder *decoder, const struct proto_step *step, const uint8_t *at,
                       const uint8_t *end)
{
    struct column *column = step->column < 0 ? NULL : &decoder->rows.columns[step->column];
    int64_t micros;
    switch (step->kind) {
    case PROTO_PASS:
        return true;
    case PROTO_PASS_TEXT:
        return is_utf8(at, end);
    case PROTO_TEXT:
    case PROTO_BINARY:
        return reader_append_bytes(&decoder->rows, column, at, (size_t)(end - at), step->kind == PROTO_TEXT);
    case PROTO_TIMESTAMP:
        if (!proto_read_timestamp(at, end, &micros))
            return false;
        column_append_bytes(column, &micros, sizeof micros);
        return true;
    case PROTO_MESSAGE:
    case PROTO_WRAPPER:
    case PROTO_ENTRY:
        return read_message(decoder, step, at, end) != NULL;
    default:
        return false;
    }
}

static inline bool reserve(struct proto_decoder *decoder, int32_t column)
{
    return column < 0 || column_reserve(&decoder->rows.columns[column]) || no_memory(decoder);
}

static const uint8_t *read_numbers(struct proto_decoder *decoder, const struct proto_step *step, enum wire wire,
                                   const uint8_t *at, const uint8_t *end)
{
    uint64_t raw;
    while (at < end) {
        if (!reserve(decoder, step->column) || !(at = proto_read_raw(wire, at, end, &raw)) ||
            !proto_append_number(decoder, step, raw))
            return NULL;
    }
    return at;
}

static const uint8_t *read_field(struct proto_decoder *decoder, const struct proto_step *step, enum wire wire,
                                 const uint8_t *at, const uint8_t *end)
{
    enum wire own = (enum wire)step->wire;
    uint64_t raw;
    if (wire != own && (wire != WIRE_BYTES || step->list < 0))
        return NULL;
    if (!(at = proto_read_raw(wire, at, end, &raw)))
        return NULL;
    if (wire == WIRE_BYTES) {
        if (raw > (uint64_t)(end - at))
            return NULL;
        if (own != WIRE_BYTES)
            return read_numbers(decoder, step, own, at, at + raw);
        return reserve(decoder, step->column) && read_bytes(decoder, step, at, at + raw) ? at + raw : NULL;
    }
    if (step->kind == PROTO_PASS)
        return at;
    return reserve(decoder, step->column) && proto_append_number(decoder, step, raw) ? at : NULL;
}

/* End the list of a repeated field. */
static bool end_list(struct proto_decoder *decoder, const struct proto_step *step)
{
    struct column *list = &decoder->rows.columns[step->list], *elements = &list->children[0];
    if (!reserve(decoder, step->list))
        return false;
    if (step->kind == PROTO_ENTRY) {
        int32_t first = ((const int32_t *)(const void *)list->values)[list->length];
        enum key_answer answer = keys_differ(&decoder->slots, &elements->children[0], first);
        if (answer != KEYS_DIFFER)
            return answer == KEYS_NO_MEMORY ? no_memory(decoder) : false;
    }
    column_append_end(list, elements->length);
    return true;
}

/* Append what stands for a field that a message does not have. */
static bool append_absent(struct proto_decoder *decoder, const struct proto_step *step)
{
    static const uint8_t nothing[1];
    if (step->absence == ABSENT_NOTHING)
        return true;
    if (!reserve(decoder, step->column))
        return false;
    switch (step->absence) {
    case ABSENT_NULL:
        return column_append_null(&decoder->rows.columns[step->column]) || no_memory(decoder);
    case ABSENT_EMPTY:
        return read_bytes(decoder, step, nothing, nothing);
    default:
        return step->form == FORM_BYTES ? proto_append_text(decoder, step, step->standard)
                                        : proto_append_number(decoder, step, step->standard);
    }
}

/* Find the field of a number; mostly it is the one behind the last one, or that one again. */
static const struct proto_step *field_of(const struct proto_step *fields, int32_t count, int32_t number, int32_t *last)
{
    int32_t low = 0, high = count, next = *last + 1;
    if (next < count && fields[next].number == number)
        return &fields[*last = next];
    if (next > 0 && fields[next - 1].number == number)
        return &fields[next - 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (fields[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || fields[low].number != number)
        return NULL;
    *last = low;
    return &fields[low];
}

/* Note that a message has a field; false if that was there, or another one of its oneof: then the last one counts. */
static bool is_first(struct found *found, const struct proto_step *step, int32_t place)
{
    uint64_t bit = UINT64_C(1) << (place & 63), oneof = step->oneof ? UINT64_C(1) << step->oneof : 0;
    if (step->list < 0 && (found->fields[place >> 6] & bit || found->oneofs & oneof))
        return false;
    found->fields[place >> 6] |= bit;
    found->oneofs |= oneof;
    return true;
}

static const uint8_t *read_message(struct proto_decoder *decoder, const struct proto_step *step, const uint8_t *at,
                                   const uint8_t *end)
{
    const struct proto_step *fields = decoder->program->steps + step->first;
    struct found found = {{0}, 0};
    int32_t number, last = -1;
    enum wire wire;
    while (at < end) {
        if (!(at = proto_read_tag(at, end, &number, &wire)))
            return NULL;
        const struct proto_step *field = field_of(fields, step->count, number, &last);
        if (field && !is_first(&found, field, (int32_t)(field - fields)))
            return NULL;
        at = field ? read_field(decoder, field, wire, at, end) : pass(wire, at, end);
        if (!at)
            return NULL;
    }
    for (int32_t i = 0; i < step->count; i++) {
        bool there = found.fields[i >> 6] >> (i & 63) & 1;
        if (fields[i].list >= 0 ? !end_list(decoder, &fields[i]) : !there && !append_absent(decoder, &fields[i]))
            return NULL;
    }
    if (step->kind != PROTO_WRAPPER)
        column_end_value(&decoder->rows.columns[step->column]);
    return at;
}

static bool read_row(struct row_reader *rows, const uint8_t *begin)
{
    struct proto_decoder *decoder = (struct proto_decoder *)rows;
    return reserve(decoder, 0) && read_message(decoder, &decoder->program->steps[0], begin, rows->end);
}

int64_t streamapp_decode_proto(const struct proto_program *program, const struct messages *messages, uint8_t *status,
                               struct ArrowArray *into)
{
    struct proto_decoder decoder = {.rows.read = read_row, .program = program};
    int64_t rows =
        messages_decode_shaped(messages, &decoder.rows, program->shapes, program->shape_count, status, into);
    free(decoder.slots.slots);
    return rows;
}
