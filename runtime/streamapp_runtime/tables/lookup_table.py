"""A table in a store: rows under their encoded key, looked up a batch at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from streamapp_core.adjunct.changes import last_changes
from streamapp_runtime.rows.row_codec import decode_row, encode_key, encode_row, to_arrow_table, to_plain_rows
from streamapp_runtime.state.store import Store
from streamapp_runtime.tables.table_changes import ChangeExtractor, TableChanges

_CACHED = 200_000


class LookupTable:
    """One table: in the state of a task, or of a processor whose tasks share it."""

    def __init__(
        self, store: Store, filling: ChangeExtractor, key_type: pa.DataType, columns: pa.Schema, cached: int = _CACHED
    ) -> None:
        """Take what makes keys and columns of the rows that fill the table; about `cached` are kept in memory."""
        self._limit = cached
        self._store = store
        self._filling = filling
        self._key_type = key_type
        self._columns = columns
        self._rows = columns.empty_table()
        """Rows that were looked up before, and those that have been replaced since."""
        self._places: dict[Any, int | None] = {}
        """Where in these the row of a key is; None: the table has none."""

    def fill(self, rows: pa.Table) -> Mapping[str, int]:
        """Add rows, each in place of the one that had its key, or delete that; tell how many were left out, and why."""
        filled = self._filling(rows)
        keys = (None if key is None else (key,) for (key,) in to_plain_rows([filled.keys]))
        changes = last_changes(zip(keys, _values(filled), strict=True))
        for key, row in changes.latest.items():
            encoded = encode_key(key)
            if row is None:
                self._store.delete(encoded)
            else:
                self._store.put(encoded, encode_row(row))
            self._places.pop(key[0], None)
        return {"without key": changes.skipped, "failed": filled.failed}

    def lookup(self, keys: pa.ChunkedArray) -> tuple[pa.Table, pa.ChunkedArray]:
        """Look up many keys: the table's columns, a row a key (nulls where there is none), and which were found."""
        distinct = keys.cast(self._key_type).combine_chunks().dictionary_encode()
        places = pa.array(self._places_of(pa.chunked_array([distinct.dictionary])), pa.int64()).take(distinct.indices)
        return self._rows.take(places), pa.chunked_array([places.is_valid()])

    def _places_of(self, keys: pa.ChunkedArray) -> list[int | None]:
        """Tell where the rows of keys lie in the cache; None where the table has none."""
        wanted = [key for (key,) in to_plain_rows([keys])]
        unknown = [key for key in wanted if key not in self._places]
        if max(len(self._places), len(self._rows)) + len(unknown) > self._limit:
            self._places, self._rows, unknown = {}, self._columns.empty_table(), wanted
        if unknown:
            self._read(unknown)
        return [self._places[key] for key in wanted]

    def _read(self, keys: Sequence[Any]) -> None:
        """Bring the rows of keys into the cache."""
        found: list[list[Any]] = []
        for key in keys:
            data = self._store.get(encode_key((key,)))
            self._places[key] = None if data is None else len(self._rows) + len(found)
            if data is not None:
                found.append(decode_row(data))
        self._rows = pa.concat_tables([self._rows, to_arrow_table(found, self._columns)]).combine_chunks()


def _values(filled: TableChanges) -> list[tuple[Any, ...] | None]:
    rows: list[tuple[Any, ...] | None] = [*to_plain_rows(filled.columns)]
    if filled.deleted is not None:
        for index, deleted in enumerate(filled.deleted.to_pylist()):
            if deleted:
                rows[index] = None
    return rows
