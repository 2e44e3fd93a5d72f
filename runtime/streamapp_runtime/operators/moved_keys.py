"""Rows that replace each other, regrouped by columns that may change: a key that moves is deleted where it was."""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, latest_event_time
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import encode_key, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches, with_keys
from streamapp_runtime.rows.tombstones import DELETED_FIELD, with_deleted_column
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode


class MovedKeys:
    """Remembers by what values of the columns each key was regrouped last."""

    def __init__(self, store: Store, schema: pa.Schema, key: Sequence[str], columns: Sequence[str]) -> None:
        """Take the columns of the rows, those of the key, and the other ones by which rows are regrouped."""
        self._store = store
        self._key = list(key)
        self._columns = list(columns)
        self._deletion = pa.schema([*(schema.field(name) for name in [*self._key, *columns]), EVENT_TIME_FIELD])
        self._schema = pa.schema([*schema, EVENT_TIME_FIELD, DELETED_FIELD])

    def follow(self, rows: pa.Table) -> pa.Table:
        """Return the changes of a batch, the last one of each key: first the deletions of keys where they were.

        A deletion has the columns of the key and those by which rows are regrouped; the others are null.
        """
        newest, gone = latest_changes(rows, self._key)
        time = latest_event_time(rows)
        deletions = []
        for key in gone:
            before = self._store.get(encode_key(key))
            if before is not None:
                deletions.append([*key, *self._read(before), time])
                self._store.delete(encode_key(key))
        keys = to_plain_rows(newest.select(self._key).columns) if len(newest) else []
        places = to_plain_rows(newest.select(self._columns).columns) if len(newest) else []
        for key, place in zip(keys, places, strict=True):
            name, now = encode_key(key), _encode(place[0] if len(place) == 1 else place)
            before = self._store.get(name)
            if before == now:
                continue
            if before is not None:
                deletions.append([*key, *self._read(before), time])
            self._store.put(name, now)
        added = with_deleted_column(newest, [False] * len(newest)).select(self._schema.names)
        return pa.concat_tables([self._as_rows(deletions), added.cast(self._schema)]) if deletions else added

    def stored_rows(self) -> Iterator[StoredRows]:
        """Return the place of each key, some at a time: the columns by which it was regrouped last."""
        key, places = (pa.schema([self._schema.field(name) for name in names]) for names in (self._key, self._columns))
        for entries in in_batches((name, self._read(data)) for name, data in scan_pages(self._store)):
            yield StoredRows(kind="places of keys", key=tuple(self._key), rows=with_keys(entries, key, places))

    def _read(self, place: bytes) -> Sequence[object]:
        """Return the values of the columns by which rows are regrouped; that of one column is stored by itself."""
        values = _decode(place)
        return [values] if len(self._columns) == 1 else values

    def _as_rows(self, deletions: list[list[object]]) -> pa.Table:
        known = to_arrow_table(deletions, self._deletion)
        columns = [
            known.column(field.name) if field.name in known.column_names else pa.nulls(len(known), field.type)
            for field in self._schema
        ]
        columns[-1] = pa.array([True] * len(known))
        return pa.Table.from_arrays(columns, schema=self._schema)
