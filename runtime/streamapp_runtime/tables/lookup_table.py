"""A table in a store: rows under their encoded key, looked up a batch at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from streamapp_core.adjunct.changes import last_changes
from streamapp_runtime.rows.row_codec import decode_row, encode_key, encode_row, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches, with_keys
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages
from streamapp_runtime.tables.table_changes import ChangeExtractor, TableChanges

_CACHED = 200_000


class LookupTable:
    """A table in the state of a task, or of a processor whose tasks share it."""

    def __init__(
        self, store: Store, extract: ChangeExtractor, key_type: pa.DataType, columns: pa.Schema, cached: int = _CACHED
    ) -> None:
        """Take what extracts changes from the rows that fill the table; about `cached` rows are cached."""
        self._limit = cached
        self._store = store
        self._extract = extract
        self._key_type = key_type
        self._columns = columns
        self._rows = columns.empty_table()
        """The cache: rows that were looked up before, also those that have been replaced since."""
        self._cached_at: dict[Any, int | None] = {}
        """The index of a key's row in the cache; None: the table has none."""

    def fill(self, rows: pa.Table) -> Mapping[str, int]:
        """Replace or delete the row of each key; return how many rows were left out, by reason."""
        changed = self._extract(rows)
        keys = (None if key is None else (key,) for (key,) in to_plain_rows([changed.keys]))
        last = last_changes(zip(keys, _values(changed), strict=True))
        for key, row in last.latest.items():
            encoded = encode_key(key)
            if row is None:
                self._store.delete(encoded)
            else:
                self._store.put(encoded, encode_row(row))
            self._cached_at.pop(key[0], None)
        return {"without key": last.skipped, "failed": changed.failed}

    def lookup(self, keys: pa.ChunkedArray) -> tuple[pa.Table, pa.ChunkedArray]:
        """Return the table's columns for many keys, a row per key (nulls where there is none), and which were found."""
        distinct = keys.cast(self._key_type).combine_chunks().dictionary_encode()
        indices = pa.array(self._indices_of(pa.chunked_array([distinct.dictionary])), pa.int64()).take(distinct.indices)
        return self._rows.take(indices), pa.chunked_array([indices.is_valid()])

    def _indices_of(self, keys: pa.ChunkedArray) -> list[int | None]:
        """Return the indices of keys' rows in the cache; None where the table has none."""
        wanted = [key for (key,) in to_plain_rows([keys])]
        unknown = [key for key in wanted if key not in self._cached_at]
        if max(len(self._cached_at), len(self._rows)) + len(unknown) > self._limit:
            self._cached_at, self._rows, unknown = {}, self._columns.empty_table(), wanted
        if unknown:
            self._cache(unknown)
        return [self._cached_at[key] for key in wanted]

    def _cache(self, keys: Sequence[Any]) -> None:
        """Read the rows of keys into the cache."""
        found: list[list[Any]] = []
        for key in keys:
            data = self._store.get(encode_key((key,)))
            self._cached_at[key] = None if data is None else len(self._rows) + len(found)
            if data is not None:
                found.append(decode_row(data))
        self._rows = pa.concat_tables([self._rows, to_arrow_table(found, self._columns)]).combine_chunks()


def stored_table_rows(store: Store, key: pa.Field, columns: pa.Schema) -> Iterator[StoredRows]:
    """Return the rows of a table in a store, some at a time, behind their keys; a key that was cut is null."""
    for entries in in_batches((name, decode_row(data)) for name, data in scan_pages(store)):
        yield StoredRows(kind="rows", key=(key.name,), rows=with_keys(entries, pa.schema([key]), columns))


def _values(changed: TableChanges) -> list[tuple[Any, ...] | None]:
    rows: list[tuple[Any, ...] | None] = [*to_plain_rows(changed.columns)]
    if changed.deleted is not None:
        for index, deleted in enumerate(changed.deleted.to_pylist()):
            if deleted:
                rows[index] = None
    return rows
