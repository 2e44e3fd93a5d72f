#include "json_scanning.h"

#include "json_numbers.h"

enum { DEEPEST = 60 };

/* Read four hexadecimal digits; -1 if there are none. */
static int32_t code_unit(const uint8_t *at, const uint8_t *end)
{
    int32_t unit = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = at[i], letter = digit | 0x20;
        if (digit >= '0' && digit <= '9')
            unit = unit * 16 + digit - '0';
        else if (letter >= 'a' && letter <= 'f')
            unit = unit * 16 + letter - 'a' + 10;
        else
            return -1;
    }
    return unit;
}

/* Read the code point of an escape that begins with \u, of two for a pair of surrogates; -1 if it is none. */
static int32_t code_point(const uint8_t *at, const uint8_t *end)
{
    int32_t unit = code_unit(at + 2, end);
    if (unit < 0xd800 || unit > 0xdfff)
        return unit;
    if (unit > 0xdbff || end - at < 12 || at[6] != '\\' || at[7] != 'u')
        return -1;
    int32_t second = code_unit(at + 8, end);
    return second < 0xdc00 || second > 0xdfff ? -1 : 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
}

const uint8_t *json_skip_escape(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 2)
        return NULL;
    if (at[1] != 'u')
        return at[1] && strchr("\"\\/bfnrt", at[1]) ? at + 2 : NULL;
    int32_t point = code_point(at, end);
    return point < 0 ? NULL : at + (point < 0x10000 ? 6 : 12);
}

static uint8_t *put_code_point(uint8_t *into, uint32_t point)
{
    if (point < 0x80) {
        *into++ = (uint8_t)point;
        return into;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xc0, 0xe0, 0xf0};
    *into++ = (uint8_t)(marks[more] | (point >> (6 * more)));
    for (int i = more - 1; i >= 0; i--)
        *into++ = (uint8_t)(0x80 | ((point >> (6 * i)) & 0x3f));
    return into;
}

size_t json_unescape(const struct json_text *text, uint8_t *into)
{
    static const char escapes[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const uint8_t *at = text->begin, *end = at + text->length;
    uint8_t *written = into;
    while (at < end) {
        const uint8_t *backslash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((backslash ? backslash : end) - at);
        memcpy(written, at, plain);
        written += plain;
        at += plain;
        if (!backslash)
            break;
        if (at[1] == 'u') {
            int32_t point = code_point(at, end);
            written = put_code_point(written, (uint32_t)point);
            at += point < 0x10000 ? 6 : 12;
        } else {
            const char *place = strchr(escapes, at[1]);
            *written++ = place ? (uint8_t)meant[place - escapes] : at[1];
            at += 2;
        }
    }
    return (size_t)(written - into);
}

static const uint8_t *skip_plain(const struct json_bounds *in, const uint8_t *at)
{
    struct json_text text;
    switch (*at) {
    case '"':
        return json_scan_text(in, at + 1, &text);
    case 't':
        return json_skip_word(at, in->end, "true", 4);
    case 'f':
        return json_skip_word(at, in->end, "false", 5);
    case 'n':
        return json_skip_word(at, in->end, "null", 4);
    default:
        return json_skip_number(at, in->end);
    }
}

/* Step over the name of a member and the colon. */
static const uint8_t *skip_name(const struct json_bounds *in, const uint8_t *at)
{
    struct json_text text;
    if (at == in->end || *at != '"' || !(at = json_scan_text(in, at + 1, &text)))
        return NULL;
    at = json_skip_space(at, in->end);
    return at == in->end || *at != ':' ? NULL : json_skip_space(at + 1, in->end);
}

const uint8_t *json_skip_value(const struct json_bounds *in, const uint8_t *at)
{
    uint64_t objects = 0; /* a bit for each nested value that is open: whether it is an object */
    int depth = 0;
    bool more;
    for (;;) {
        if (!at || at >= in->end)
            return NULL;
        if (*at == '{' || *at == '[') {
            bool object = *at == '{';
            at = json_enter(at, in->end, object ? '}' : ']', &more);
            if (more) {
                if (depth++ == DEEPEST)
                    return NULL;
                objects = objects << 1 | object;
                if (object)
                    at = skip_name(in, at);
                continue;
            }
        } else if (!(at = skip_plain(in, at))) {
            return NULL;
        }
        for (more = false; depth && !more;) {
            if (!(at = json_go_on(at, in->end, objects & 1 ? '}' : ']', &more)))
                return NULL;
            if (more) {
                if (objects & 1)
                    at = skip_name(in, at);
            } else {
                depth--;
                objects >>= 1;
            }
        }
        if (!more)
            return at;
    }
}
