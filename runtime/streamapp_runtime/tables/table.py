"""A table in a store: rows under their encoded key, looked up a batch at a time."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.rows.codec import arrow_columns, decode_row, encode_key, encode_row, plain_rows
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.protocol import Store

_CACHED = 100_000


class Table:
    """One table: in the state of a task, or of a processor whose tasks share it."""

    def __init__(self, engine: SqlEngine, store: Store, sql: str, key_type: pa.DataType, columns: pa.Schema) -> None:
        """Take the query that makes key and columns of the rows that fill the table: `SELECT key, ... FROM rows`."""
        self._engine = engine
        self._store = store
        self._sql = sql
        self._key_type = key_type
        self._columns = columns
        self._cache: dict[bytes, list[Any] | None] = {}
        self.skipped = 0
        """How many rows had no key."""

    def fill(self, rows: pa.Table) -> None:
        """Add rows, each in place of the one that had its key; a row without key is skipped and counted."""
        made = self._engine.query(self._sql, rows=rows)
        keys = plain_rows(made.columns[:1])
        for key, row in zip(keys, plain_rows(made.columns[1:]), strict=True):
            if key[0] is None:
                self.skipped += 1
                continue
            encoded = encode_key(key)
            self._store.put(encoded, encode_row(row))
            self._cache.pop(encoded, None)

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
