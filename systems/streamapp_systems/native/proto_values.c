#include "proto_values.h"

#include "wide_integers.h"

static const int64_t FIRST_SECOND = INT64_C(-62135596800), LAST_SECOND = INT64_C(253402300799);
enum { NANOS = 1000000000, MICROS = 1000000 };

/* Return whether a number is one of its form, which a column of 64 bits holds. */
static bool whole_number(int32_t form, uint64_t raw, int64_t *value)
{
    *value = (int64_t)raw;
    switch (form) {
    case FORM_BOOL:
        return raw <= 1;
    case FORM_INT32:
        return *value == (int32_t)*value;
    case FORM_UINT32:
        return raw <= UINT32_MAX;
    case FORM_UINT64:
    case FORM_FIXED64:
        return raw <= INT64_MAX;
    case FORM_SINT32:
    case FORM_SINT64:
        *value = (int64_t)(raw >> 1 ^ (0 - (raw & 1)));
        return form == FORM_SINT64 || raw <= UINT32_MAX;
    case FORM_SFIXED32:
        *value = (int32_t)(uint32_t)raw;
        return true;
    default:
        return true;
    }
}

static bool append_decimal(const struct proto_step *step, struct column *column, uint64_t raw)
{
    int64_t value;
    int128_t whole = (int128_t)raw, factor = (int128_t)((uint128_t)step->factor[1] << 64 | step->factor[0]);
    if (step->form != FORM_UINT64 && step->form != FORM_FIXED64) {
        if (!whole_number(step->form, raw, &value))
            return false;
        whole = value;
    }
    whole *= factor;
    column_append_bytes(column, &whole, sizeof whole);
    return true;
}

bool proto_append_text(struct proto_decoder *decoder, const struct proto_step *step, uint64_t place)
{
    const struct proto_program *program = decoder->program;
    const int64_t *ends = program->text_ends + place;
    return reader_append_bytes(&decoder->rows, &decoder->rows.columns[step->column], program->texts + ends[0],
                               (size_t)(ends[1] - ends[0]), false);
}

static bool append_name(struct proto_decoder *decoder, const struct proto_step *step, uint64_t raw)
{
    const int32_t *numbers = decoder->program->text_numbers + step->first;
    int32_t low = 0, high = step->count;
    int64_t value;
    if (!whole_number(step->form, raw, &value))
        return false;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (numbers[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == step->count || numbers[low] != value)
        return false;
    return proto_append_text(decoder, step, (uint64_t)(step->first + low));
}

bool proto_append_number(struct proto_decoder *decoder, const struct proto_step *step, uint64_t raw)
{
    struct column *column = &decoder->rows.columns[step->column];
    uint32_t bits = (uint32_t)raw;
    int32_t narrow;
    int64_t value;
    float single;
    double real;
    switch (step->kind) {
    case PROTO_BOOLEAN:
        if (raw > 1)
            return false;
        column_append_bit(column, raw);
        return true;
    case PROTO_INT32:
        if (!whole_number(step->form, raw, &value))
            return false;
        narrow = (int32_t)value;
        column_append_bytes(column, &narrow, sizeof narrow);
        return true;
    case PROTO_INT64:
        if (!whole_number(step->form, raw, &value))
            return false;
        column_append_bytes(column, &value, sizeof value);
        return true;
    case PROTO_DECIMAL:
        return append_decimal(step, column, raw);
    case PROTO_FLOAT:
        column_append_bytes(column, &bits, sizeof bits);
        return true;
    case PROTO_FLOAT_DOUBLE:
        memcpy(&single, &bits, sizeof single);
        real = single;
        column_append_bytes(column, &real, sizeof real);
        return true;
    case PROTO_DOUBLE:
        column_append_bytes(column, &raw, sizeof raw);
        return true;
    case PROTO_ENUM:
        return append_name(decoder, step, raw);
    default:
        return false;
    }
}

bool proto_read_timestamp(const uint8_t *at, const uint8_t *end, int64_t *micros)
{
    int64_t parts[2] = {0, 0};
    unsigned seen = 0;
    while (at < end) {
        int32_t number;
        enum wire wire;
        uint64_t raw;
        at = proto_read_tag(at, end, &number, &wire);
        if (!at || number > 2 || wire != WIRE_NUMBER || seen & 1u << number)
            return false;
        seen |= 1u << number;
        if (!(at = read_varint(at, end, &raw)))
            return false;
        parts[number - 1] = (int64_t)raw;
    }
    if (parts[0] < FIRST_SECOND || parts[0] > LAST_SECOND || parts[1] < 0 || parts[1] >= NANOS)
        return false;
    *micros = parts[0] * MICROS + parts[1] / (NANOS / MICROS);
    return true;
}
