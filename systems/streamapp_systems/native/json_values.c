#include "json_reading.h"

static const int64_t FIRST_MOMENT = INT64_C(-62135596800000000), END_OF_MOMENTS = INT64_C(253402300800000000);

bool json_append_text(struct column *column, const struct json_bounds *in, const struct json_text *text)
{
    if (column->left_out) {
        column->length++;
        return true;
    }
    if (!column_reserve_data(column, text->length))
        return false;
    uint8_t *into = column->data + column->data_length;
    size_t written = text->length;
    if (text->escaped)
        written = json_unescape(text, into);
    else if ((size_t)(in->readable - text->begin) >= text->length + TEXT_SLACK)
        for (size_t i = 0; i < text->length; i += 16)
            memcpy(into + i, text->begin + i, 16);
    else
        memcpy(into, text->begin, text->length);
    column->data_length += (int64_t)written;
    column_append_end(column, column->data_length);
    return true;
}

static bool append_number(struct decoder *decoder, struct reader *reader, const struct json_number *number)
{
    double wide;
    float single;
    bool wanted = reader->node->kind == KIND_DOUBLE;
    if (wanted ? !json_to_double(number, decoder->schema->powers, &wide)
               : !json_to_float(number, decoder->schema->powers, &single))
        return false;
    if (wanted)
        column_append_bytes(reader->column, &wide, sizeof wide);
    else
        column_append_bytes(reader->column, &single, sizeof single);
    return true;
}

/* Append a whole number if it fits. */
static bool append_integer(struct reader *reader, int64_t value)
{
    struct column *column = reader->column;
    int64_t unit = reader->node->parameter;
    int8_t byte = (int8_t)value;
    int16_t small = (int16_t)value;
    int32_t medium = (int32_t)value;
    switch (reader->node->kind) {
    case KIND_INT8:
        column_append_bytes(column, &byte, sizeof byte);
        return byte == value;
    case KIND_INT16:
        column_append_bytes(column, &small, sizeof small);
        return small == value;
    case KIND_INT32:
        column_append_bytes(column, &medium, sizeof medium);
        return medium == value;
    case KIND_EPOCH:
        if (value < FIRST_MOMENT / unit || value >= END_OF_MOMENTS / unit)
            return false;
        value *= unit;
        break;
    }
    column_append_bytes(column, &value, sizeof value);
    return true;
}

/* Append what a text says of a day or time. */
static bool append_time(struct reader *reader, const struct json_text *text)
{
    int64_t micros;
    int32_t days;
    if (text->escaped)
        return false;
    if (reader->node->kind == KIND_DATE) {
        if (!json_to_date(text->begin, text->length, &days))
            return false;
        column_append_bytes(reader->column, &days, sizeof days);
        return true;
    }
    if (!json_to_timestamp(text->begin, text->length, reader->node->kind == KIND_TIMESTAMP, &micros))
        return false;
    column_append_bytes(reader->column, &micros, sizeof micros);
    return true;
}

static const uint8_t *read_decimal(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *begin = at;
    struct json_text text;
    int128_t value;
    if (*at == '"') {
        at = json_scan_text(&decoder->in, at + 1, &text);
    } else if ((at = json_skip_number(at, decoder->in.end))) {
        text.begin = begin;
        text.length = (size_t)(at - begin);
    }
    if (!at || !json_to_decimal(text.begin, text.length, reader->node->parameter, reader->node->scale, &value))
        return NULL;
    column_append_bytes(reader->column, &value, sizeof value);
    return at;
}

const uint8_t *json_read_plain(struct decoder *decoder, struct reader *reader, const uint8_t *at)
{
    const uint8_t *end = decoder->in.end;
    struct column *column = reader->column;
    struct json_text text;
    struct json_number number;
    int64_t whole;
    switch (reader->node->kind) {
    case KIND_BOOL:
        whole = *at == 't';
        at = whole ? json_skip_word(at, end, "true", 4) : json_skip_word(at, end, "false", 5);
        if (at)
            column_append_bit(column, whole);
        return at;
    case KIND_INT8:
    case KIND_INT16:
    case KIND_INT32:
    case KIND_INT64:
    case KIND_EPOCH:
        at = json_scan_integer(at, end, &whole);
        return at && append_integer(reader, whole) ? at : NULL;
    case KIND_FLOAT:
    case KIND_DOUBLE:
        at = json_scan_number(at, end, &number);
        return at && append_number(decoder, reader, &number) ? at : NULL;
    case KIND_DECIMAL:
        return read_decimal(decoder, reader, at);
    case KIND_TEXT:
        if (*at != '"' || !(at = json_scan_text(&decoder->in, at + 1, &text)))
            return NULL;
        return json_append_text(column, &decoder->in, &text) ? at : json_no_memory(decoder);
    case KIND_DATE:
    case KIND_CLOCK:
    case KIND_TIMESTAMP:
        if (*at != '"' || !(at = json_scan_text(&decoder->in, at + 1, &text)))
            return NULL;
        if (text.length == 0) /* it says nothing */
            return column_append_null(column) ? at : json_no_memory(decoder);
        return append_time(reader, &text) ? at : NULL;
    case KIND_JSON:
        text = (struct json_text){.begin = at};
        at = json_skip_value(&decoder->in, at);
        if (!at)
            return NULL;
        text.length = (size_t)(at - text.begin);
        return json_append_text(column, &decoder->in, &text) ? at : json_no_memory(decoder);
    default:
        return NULL;
    }
}
