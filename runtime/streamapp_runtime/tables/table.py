"""A table in a store: rows under their encoded key, looked up a batch at a time."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.adjunct.changes import last_changes
from streamapp_runtime.rows.codec import arrow_columns, decode_row, encode_key, encode_row, plain_rows
from streamapp_runtime.state.protocol import Store
from streamapp_runtime.tables.filling import Filled, Filling

_CACHED = 100_000


class Table:
    """One table: in the state of a task, or of a processor whose tasks share it."""

    def __init__(self, store: Store, filling: Filling, key_type: pa.DataType, columns: pa.Schema) -> None:
        """Take what makes keys and columns of the rows that fill the table."""
        self._store = store
        self._filling = filling
        self._key_type = key_type
        self._columns = columns
        self._cache: dict[bytes, list[Any] | None] = {}

    def fill(self, rows: pa.Table) -> Mapping[str, int]:
        """Add rows, each in place of the one that had its key, or delete that; tell how many were left out, and why."""
        filled = self._filling(rows)
        keys = (None if key is None else (key,) for (key,) in plain_rows([filled.keys]))
        changes = last_changes(zip(keys, _values(filled), strict=True))
        for key, row in changes.latest.items():
            encoded = encode_key(key)
            if row is None:
                self._store.delete(encoded)
            else:
                self._store.put(encoded, encode_row(row))
            self._cache.pop(encoded, None)
        return {"without key": changes.skipped, "failed": filled.failed}

    def lookup(self, keys: pa.ChunkedArray) -> tuple[pa.Table, pa.ChunkedArray]:
        """Look up many keys: the table's columns, a row a key (nulls where there is none), and which were found."""
        distinct = keys.cast(self._key_type).combine_chunks().dictionary_encode()
        found = [self._get(encode_key(key)) for key in plain_rows([pa.chunked_array([distinct.dictionary])])]
        missing = [None] * len(self._columns)
        rows = arrow_columns([*(row if row is not None else missing for row in found), missing], self._columns)
        known = pa.array([*(row is not None for row in found), False])
        indices = pc.fill_null(distinct.indices, len(found))
        return rows.take(indices), pa.chunked_array([known.take(indices)])

    def _get(self, key: bytes) -> list[Any] | None:
        if key not in self._cache:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            data = self._store.get(key)
            self._cache[key] = None if data is None else decode_row(data)
        return self._cache[key]


def _values(filled: Filled) -> list[tuple[Any, ...] | None]:
    rows: list[tuple[Any, ...] | None] = [*plain_rows(filled.columns)]
    if filled.deleted is not None:
        for index, deleted in enumerate(filled.deleted.to_pylist()):
            if deleted:
                rows[index] = None
    return rows
