#include "avro_values.h"

enum { DECIMAL_BYTES = 16, UUID_BYTES = 16, UUID_LENGTH = 36 };

/* Step over bytes of a size, or where that is negative over their length and them. */
static const uint8_t *read_span(struct avro_decoder *decoder, int64_t size, const uint8_t *at, const uint8_t **begin)
{
    const uint8_t *end = decoder->rows.end;
    if (size < 0 && !(at = avro_read_number(at, end, &size)))
        return NULL;
    *begin = at;
    return avro_pass(at, end, size);
}

static bool append_symbol(struct avro_decoder *decoder, const struct avro_step *step, struct column *column, int64_t at)
{
    const int64_t *ends = decoder->program->symbol_ends + step->first + at;
    return reader_append_bytes(&decoder->rows, column, decoder->program->symbols + ends[0], (size_t)(ends[1] - ends[0]), false);
}

static bool append_uuid(struct avro_decoder *decoder, struct column *column, const uint8_t *bytes)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t text[UUID_LENGTH];
    size_t length = 0;
    for (int at = 0; at < UUID_BYTES; at++) {
        if (at == 4 || at == 6 || at == 8 || at == 10)
            text[length++] = '-';
        text[length++] = (uint8_t)digits[bytes[at] >> 4];
        text[length++] = (uint8_t)digits[bytes[at] & 15];
    }
    return reader_append_bytes(&decoder->rows, column, text, length, false);
}

static int128_t wide(const uint64_t halves[2]) { return (int128_t)((uint128_t)halves[1] << 64 | halves[0]); }

/* Append a whole number of some bytes, the highest first. */
static bool append_decimal(const struct avro_step *step, struct column *column, const uint8_t *begin, size_t length)
{
    if (length == 0)
        return false;
    uint8_t sign = *begin & 0x80 ? 0xff : 0;
    uint128_t bits = sign ? ~(uint128_t)0 : 0;
    for (; length > DECIMAL_BYTES; length--)
        if (*begin++ != sign || (*begin ^ sign) & 0x80)
            return false;
    for (size_t at = 0; at < length; at++)
        bits = bits << 8 | begin[at];
    int128_t value = (int128_t)bits, limit = wide(step->limit);
    if (value > limit || value < -limit)
        return false;
    value *= wide(step->factor);
    column_append_bytes(column, &value, sizeof value);
    return true;
}

/* Append a whole number that is in the step's bounds. */
static void append_whole(const struct avro_step *step, struct column *column, int64_t value)
{
    int32_t narrow = (int32_t)value;
    float single = (float)value;
    double real = (double)value;
    int128_t decimal;
    switch (step->kind) {
    case AVRO_WHOLE_INT32:
        column_append_bytes(column, &narrow, sizeof narrow);
        break;
    case AVRO_WHOLE_FLOAT:
        column_append_bytes(column, &single, sizeof single);
        break;
    case AVRO_WHOLE_DOUBLE:
        column_append_bytes(column, &real, sizeof real);
        break;
    case AVRO_WHOLE_DECIMAL:
        decimal = value * wide(step->factor);
        column_append_bytes(column, &decimal, sizeof decimal);
        break;
    default:
        value *= step->size;
        column_append_bytes(column, &value, sizeof value);
    }
}

const uint8_t *avro_read_plain(struct avro_decoder *decoder, const struct avro_step *step, const uint8_t *at)
{
    struct column *column = &decoder->rows.columns[step->column];
    const uint8_t *end = decoder->rows.end, *begin = at;
    int64_t whole;
    float single;
    double real;
    switch (step->kind) {
    case AVRO_BOOLEAN:
        if (at == end || *at > 1)
            return NULL;
        column_append_bit(column, *at);
        return at + 1;
    case AVRO_WHOLE_INT32:
    case AVRO_WHOLE_INT64:
    case AVRO_WHOLE_FLOAT:
    case AVRO_WHOLE_DOUBLE:
    case AVRO_WHOLE_DECIMAL:
        if (!(at = avro_read_number(at, end, &whole)) || whole < step->low || whole > step->high)
            return NULL;
        append_whole(step, column, whole);
        return at;
    case AVRO_FLOAT:
    case AVRO_DOUBLE:
        if ((at = avro_pass(at, end, column->width)))
            column_append_bytes(column, begin, column->width);
        return at;
    case AVRO_FLOAT_DOUBLE:
        if (!(at = avro_pass(at, end, sizeof single)))
            return NULL;
        memcpy(&single, begin, sizeof single);
        real = single;
        column_append_bytes(column, &real, sizeof real);
        return at;
    case AVRO_ENUM:
        if (!(at = avro_read_number(at, end, &whole)) || whole < 0 || whole >= step->count)
            return NULL;
        return append_symbol(decoder, step, column, whole) ? at : NULL;
    case AVRO_TEXT:
    case AVRO_BINARY:
        if (!(at = read_span(decoder, step->size, at, &begin)))
            return NULL;
        return reader_append_bytes(&decoder->rows, column, begin, (size_t)(at - begin), step->kind == AVRO_TEXT) ? at : NULL;
    case AVRO_UUID:
        at = avro_pass(at, end, UUID_BYTES);
        return at && append_uuid(decoder, column, begin) ? at : NULL;
    case AVRO_DECIMAL:
        at = read_span(decoder, step->size, at, &begin);
        return at && append_decimal(step, column, begin, (size_t)(at - begin)) ? at : NULL;
    default:
        return NULL;
    }
}
