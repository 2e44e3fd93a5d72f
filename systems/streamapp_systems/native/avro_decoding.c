#include "avro_decoding.h"

#include <stdlib.h>

#include "avro_values.h"

static const uint8_t *read_value(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at);

static const uint8_t *read_record(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at)
{
    const struct avro_step *fields = decoder->program->steps + step->first;
    for (int32_t i = 0; at && i < step->count; i++)
        at = read_value(decoder, &fields[i], at);
    if (at && step->column >= 0)
        column_end_value(&decoder->rows.columns[step->column]);
    return at;
}

/* Read the blocks of an array or a map. A block has the number of its elements before it; if that is negative, the bytes
   that they have follow. */
static const uint8_t *read_blocks(struct avro_decoder *decoder, const struct avro_step *element, const uint8_t *at)
{
    const uint8_t *end = decoder->rows.end;
    int64_t count, bytes;
    while ((at = avro_read_number(at, end, &count)) && count) {
        if (count < 0) {
            if (count < -INT64_MAX || !(at = avro_read_number(at, end, &bytes)))
                return NULL;
            count = -count;
        }
        if (count > end - at)
            return NULL;
        for (; at && count > 0; count--)
            at = read_value(decoder, element, at);
        if (!at)
            return NULL;
    }
    return at;
}

static const uint8_t *read_elements(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at)
{
    const struct avro_step *element = &decoder->program->steps[step->first];
    if (step->column < 0)
        return read_blocks(decoder, element, at);
    struct column *column = &decoder->rows.columns[step->column], *elements = &column->children[0];
    int64_t first = elements->length;
    if (!(at = read_blocks(decoder, element, at)))
        return NULL;
    if (step->kind == AVRO_MAP) {
        enum key_answer answer = keys_differ(&decoder->slots, &elements->children[0], first);
        if (answer != KEYS_DIFFER)
            return answer == KEYS_UNSURE ? NULL : avro_no_memory(decoder);
    }
    column_append_end(column, elements->length);
    return at;
}

static const uint8_t *read_value(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at)
{
    const uint8_t *end = decoder->rows.end;
    int64_t number;
    while (step->kind == AVRO_UNION) {
        if (!(at = avro_read_number(at, end, &number)) || number < 0 || number >= step->count)
            return NULL;
        step = &decoder->program->steps[step->first + number];
    }
    if (step->column >= 0 && !column_reserve(&decoder->rows.columns[step->column]))
        return avro_no_memory(decoder);
    switch (step->kind) {
    case AVRO_NULL:
        if (step->column >= 0 && !column_append_null(&decoder->rows.columns[step->column]))
            return avro_no_memory(decoder);
        return at;
    case AVRO_PASS_BYTES:
        return avro_pass(at, end, step->size);
    case AVRO_PASS_NUMBER:
        return avro_read_number(at, end, &number);
    case AVRO_PASS_SPAN:
        at = avro_read_number(at, end, &number);
        return at ? avro_pass(at, end, number) : NULL;
    case AVRO_RECORD:
        return read_record(decoder, step, at);
    case AVRO_ARRAY:
    case AVRO_MAP:
        return read_elements(decoder, step, at);
    default:
        return avro_read_plain(decoder, step, at);
    }
}

static bool read_message(struct row_reader *rows, const uint8_t *begin)
{
    struct avro_decoder *decoder = (struct avro_decoder *)rows;
    return read_value(decoder, &decoder->program->steps[0], begin) == rows->end;
}

int64_t streamapp_decode_avro(const struct avro_program *program, const struct messages *messages, uint8_t *status,
                              struct ArrowArray *into)
{
    struct avro_decoder decoder = {.rows.read = read_message, .program = program};
    int64_t rows =
        messages_decode_shaped(messages, &decoder.rows, program->shapes, program->shape_count, status, into);
    free(decoder.slots.slots);
    return rows;
}
