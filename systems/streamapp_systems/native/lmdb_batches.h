/* Many entries of LMDB at once, by its own functions: Python's package brings them and opens the transactions. */
#ifndef LMDB_BATCHES_H
#define LMDB_BATCHES_H

#include "row_columns.h"

/* As lmdb.h declares it. */
struct lmdb_value {
    size_t size;
    void *data;
};

/* LMDB's functions for cursors; they return 0, or an error of LMDB or of the system. */
struct lmdb_functions {
    int (*open)(void *transaction, unsigned database, void **cursor);
    void (*close)(void *cursor);
    int (*get)(void *cursor, struct lmdb_value *key, struct lmdb_value *value, int operation);
    int (*put)(void *cursor, struct lmdb_value *key, struct lmdb_value *value, unsigned flags);
    int (*remove)(void *cursor, unsigned flags);
};

/* Put entries in their order, or in another one; those without a value are deleted, and of those with one key behind each
   other only the last one counts. Return 0 or the first error. */
int32_t streamapp_lmdb_put(const struct lmdb_functions *lmdb, void *transaction, uint32_t database,
                           const struct binary_column *keys, const struct binary_column *values, const int64_t *order);

/* Find the value of each key: where it is, until the transaction ends or writes, and its length, -1 where there is none.
   Return 0 or the first error. */
int32_t streamapp_lmdb_find(const struct lmdb_functions *lmdb, void *transaction, uint32_t database,
                            const struct binary_column *keys, const void **found, int64_t *lengths);

/* Copy what was found, behind each other; there is room for all of it. */
void streamapp_copy_found(const void *const *found, const int64_t *lengths, int64_t count, uint8_t *into);

#endif
