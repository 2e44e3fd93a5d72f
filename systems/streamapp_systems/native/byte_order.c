#include "key_groups.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A text by its place, and its first bytes behind those that all texts begin with, as a number that orders alike. */
struct ordered {
    uint64_t first;
    int64_t place;
};

struct text {
    const uint8_t *bytes;
    size_t length;
};

static struct text text_at(const struct binary_column *texts, int64_t at)
{
    const int32_t *offsets = texts->offsets + texts->first + at;
    size_t length = (size_t)(offsets[1] - offsets[0]);
    return (struct text){length ? texts->data + offsets[0] : NULL, length};
}

static size_t common_prefix(const struct binary_column *texts)
{
    struct text first = text_at(texts, 0);
    size_t common = first.length;
    for (int64_t at = 1; at < texts->length && common; at++) {
        struct text text = text_at(texts, at);
        if (text.length < common)
            common = text.length;
        if (common && memcmp(first.bytes, text.bytes, common)) {
            size_t same = 0;
            while (first.bytes[same] == text.bytes[same])
                same++;
            common = same;
        }
    }
    return common;
}

static uint64_t first_bytes(struct text text, size_t behind)
{
    uint64_t first = 0;
    for (size_t at = 0; at < 8; at++)
        first = first << 8 | (behind + at < text.length ? text.bytes[behind + at] : 0);
    return first;
}

static bool is_before(const struct binary_column *texts, const struct ordered *left, const struct ordered *right)
{
    if (left->first != right->first)
        return left->first < right->first;
    struct text one = text_at(texts, left->place), other = text_at(texts, right->place);
    size_t shorter = one.length < other.length ? one.length : other.length;
    int order = shorter ? memcmp(one.bytes, other.bytes, shorter) : 0;
    return order ? order < 0 : one.length != other.length ? one.length < other.length : left->place < right->place;
}

/* Merge runs of a length by twos. */
static void merge_runs(const struct binary_column *texts, const struct ordered *from, struct ordered *into, int64_t run)
{
    int64_t count = texts->length;
    for (int64_t begin = 0; begin < count; begin += 2 * run) {
        int64_t left = begin, middle = begin + run < count ? begin + run : count, right = middle;
        int64_t end = middle + run < count ? middle + run : count;
        for (int64_t at = begin; at < end; at++) {
            bool first = left < middle && (right == end || !is_before(texts, &from[right], &from[left]));
            into[at] = from[first ? left++ : right++];
        }
    }
}

int32_t streamapp_order_bytes(const struct binary_column *texts, int64_t *order)
{
    int64_t count = texts->length;
    if (!count)
        return true;
    struct ordered *sorted = malloc(2 * (size_t)count * sizeof *sorted);
    if (!sorted)
        return false;
    struct ordered *others = sorted + count;
    size_t common = common_prefix(texts);
    for (int64_t at = 0; at < count; at++)
        sorted[at] = (struct ordered){first_bytes(text_at(texts, at), common), at};
    struct ordered *from = sorted, *into = others;
    for (int64_t run = 1; run < count; run *= 2) {
        merge_runs(texts, from, into, run);
        struct ordered *merged = into;
        into = from;
        from = merged;
    }
    for (int64_t at = 0; at < count; at++)
        order[at] = from[at].place;
    free(sorted);
    return true;
}
