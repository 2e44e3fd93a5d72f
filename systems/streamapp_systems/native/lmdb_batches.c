#include "lmdb_batches.h"

#include <stdbool.h>
#include <string.h>

/* From lmdb.h. */
enum { MDB_LAST = 6, MDB_SET = 15, MDB_APPEND = 0x20000, MDB_NOTFOUND = -30798 };

static bool is_present(const struct binary_column *column, int64_t at)
{
    at += column->first;
    return !column->validity || (column->validity[at >> 3] >> (at & 7) & 1);
}

static struct lmdb_value value_at(const struct binary_column *column, int64_t at)
{
    const int32_t *offsets = column->offsets + column->first + at;
    return (struct lmdb_value){(size_t)(offsets[1] - offsets[0]), (void *)(uintptr_t)(column->data + offsets[0])};
}

static int compare(struct lmdb_value left, struct lmdb_value right)
{
    size_t shorter = left.size < right.size ? left.size : right.size;
    int order = shorter ? memcmp(left.data, right.data, shorter) : 0;
    return order ? order : (left.size > right.size) - (left.size < right.size);
}

/* Whether all keys, which come in an order, are behind those of the database: pages are filled then, not halved. */
static bool is_behind(const struct lmdb_functions *lmdb, void *cursor, const struct binary_column *keys,
                      const int64_t *order)
{
    struct lmdb_value last, value;
    for (int64_t next = 1; next < keys->length; next++) {
        int64_t before = order ? order[next - 1] : next - 1, at = order ? order[next] : next;
        if (compare(value_at(keys, before), value_at(keys, at)) > 0)
            return false;
    }
    int error = lmdb->get(cursor, &last, &value, MDB_LAST);
    return error == MDB_NOTFOUND || (!error && compare(value_at(keys, order ? order[0] : 0), last) > 0);
}

int32_t streamapp_lmdb_put(const struct lmdb_functions *lmdb, void *transaction, uint32_t database,
                           const struct binary_column *keys, const struct binary_column *values, const int64_t *order)
{
    void *cursor;
    int error = lmdb->open(transaction, database, &cursor);
    if (error)
        return error;
    unsigned flags = keys->length && is_behind(lmdb, cursor, keys, order) ? MDB_APPEND : 0;
    for (int64_t next = 0; next < keys->length && !error; next++) {
        int64_t at = order ? order[next] : next;
        struct lmdb_value key = value_at(keys, at), value;
        if (next + 1 < keys->length && !compare(key, value_at(keys, order ? order[next + 1] : next + 1)))
            continue;
        if (is_present(values, at)) {
            value = value_at(values, at);
            error = lmdb->put(cursor, &key, &value, flags);
        } else {
            error = lmdb->get(cursor, &key, &value, MDB_SET);
            if (error == MDB_NOTFOUND)
                error = 0;
            else if (!error)
                error = lmdb->remove(cursor, 0);
        }
    }
    lmdb->close(cursor);
    return error;
}

int32_t streamapp_lmdb_find(const struct lmdb_functions *lmdb, void *transaction, uint32_t database,
                            const struct binary_column *keys, const void **found, int64_t *lengths)
{
    void *cursor;
    int error = lmdb->open(transaction, database, &cursor);
    if (error)
        return error;
    for (int64_t at = 0; at < keys->length && !error; at++) {
        struct lmdb_value key = value_at(keys, at), value;
        error = lmdb->get(cursor, &key, &value, MDB_SET);
        found[at] = error ? NULL : value.data;
        lengths[at] = error ? -1 : (int64_t)value.size;
        if (error == MDB_NOTFOUND)
            error = 0;
    }
    lmdb->close(cursor);
    return error;
}

void streamapp_copy_found(const void *const *found, const int64_t *lengths, int64_t count, uint8_t *into)
{
    for (int64_t at = 0; at < count; at++) {
        if (lengths[at] <= 0)
            continue;
        memcpy(into, found[at], (size_t)lengths[at]);
        into += lengths[at];
    }
}
