/* Steps over parts of a JSON text. Each returns the place behind the part, or NULL where it is not sure of it: it is
   malformed, or cut off, or such as another reader should judge. Places are below the end of their text. */
#ifndef JSON_SCANNING_H
#define JSON_SCANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Where a text ends, and where the buffer that holds it does: up to there bytes may be read. */
struct json_bounds {
    const uint8_t *end, *readable;
};

/* What stands between quotes, in UTF-8; `escaped` if with escapes, which are valid. */
struct json_text {
    const uint8_t *begin;
    size_t length;
    bool escaped;
};

/* Step over an escape, or two that are a pair of surrogates; surrogates alone are refused. */
const uint8_t *json_skip_escape(const uint8_t *at, const uint8_t *end);

/* Write a text without its escapes, which takes no more bytes than with them; return how many. */
size_t json_unescape(const struct json_text *text, uint8_t *into);

/* Step over any value, nested to a few levels. */
const uint8_t *json_skip_value(const struct json_bounds *in, const uint8_t *at);

static inline const uint8_t *json_skip_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* Find, in the next 16 bytes, those that end a plain part of a text, and those that are not ASCII; a bit each. */
static inline void json_classify(const struct json_bounds *in, const uint8_t *at, unsigned *stops, unsigned *high)
{
    uint8_t last[16] = {0};
    if (in->readable - at < 16) {
        memcpy(last, at, (size_t)(in->readable - at));
        at = last;
    }
#ifdef __SSE2__
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    *stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash)));
    *high = (unsigned)_mm_movemask_epi8(bytes);
#else
    *stops = *high = 0;
    for (unsigned i = 0; i < 16; i++) {
        *stops |= (unsigned)(at[i] < 0x20 || at[i] == '"' || at[i] == '\\') << i;
        *high |= (unsigned)(at[i] >> 7) << i;
    }
#endif
}

/* Step over a text, from behind its first quote. */
static inline const uint8_t *json_scan_text(const struct json_bounds *in, const uint8_t *at, struct json_text *text)
{
    unsigned stops, high, found = 0;
    text->begin = at;
    text->escaped = false;
    for (;;) {
        json_classify(in, at, &stops, &high);
        if (!stops) {
            found |= high;
            at += 16;
            continue;
        }
        unsigned plain = (unsigned)__builtin_ctz(stops);
        found |= high & ((1u << plain) - 1);
        at += plain;
        if (at >= in->end)
            return NULL;
        if (*at == '"')
            break;
        if (*at != '\\' || !(at = json_skip_escape(at, in->end)))
            return NULL;
        text->escaped = true;
    }
    text->length = (size_t)(at - text->begin);
    return found && !is_utf8(text->begin, at) ? NULL : at + 1;
}

/* Step over what opens a list or an object, and, where that is empty, what closes it; `more` says whether it isn't. */
static inline const uint8_t *json_enter(const uint8_t *at, const uint8_t *end, uint8_t close, bool *more)
{
    at = json_skip_space(at + 1, end);
    *more = at == end || *at != close;
    return *more ? at : at + 1;
}

/* Step over the comma behind an element, or over what closes the list or object; `more` says which. */
static inline const uint8_t *json_go_on(const uint8_t *at, const uint8_t *end, uint8_t close, bool *more)
{
    at = json_skip_space(at, end);
    if (at == end || (*at != ',' && *at != close))
        return NULL;
    *more = *at == ',';
    return *more ? json_skip_space(at + 1, end) : at + 1;
}

static inline const uint8_t *json_skip_word(const uint8_t *at, const uint8_t *end, const char *word, size_t length)
{
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

#endif
