"""Rows that replace each other, in groups that have an order: their values by their keys, and the keys in their order.

A search finds where a row stands, however many there are.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_core.expressions.typed_sql import quoted
from streamapp_runtime.rows.row_codec import DIGEST_BYTES, MAXIMUM_KEY, digest, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_ROW, _ORDER = b"r", b"o"
_SORT_KEY = "__sort_key"
_LONGEST_SORT_KEY = MAXIMUM_KEY - DIGEST_BYTES - len(_ORDER)
_CUT = _LONGEST_SORT_KEY - DIGEST_BYTES
_HIGHEST = b"\xff"


class OrderedRow(msgspec.Struct, array_like=True):
    """A row: the digest of its group, its place in the order as bytes that sort alike, and its values."""

    group: bytes
    sort_key: bytes
    values: Sequence[Any]

    @property
    def entry(self) -> bytes:
        """The name of its key in the order of its group: a long sort key is cut, and ends in its digest."""
        key = self.sort_key
        if len(key) > _LONGEST_SORT_KEY:
            key = key[:_CUT] + hashlib.blake2b(key, digest_size=DIGEST_BYTES).digest()
        return _ORDER + self.group + key


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(OrderedRow).decode


class OrderedGroups:
    """The rows as they are now, by the digests of their keys; of equal ones in the order the least key is first."""

    def __init__(
        self, engine: SqlEngine, store: Store, ordering: Ordering, schema: pa.Schema, key: Sequence[str]
    ) -> None:
        """Take the columns of the rows, and those of the key by which rows replace each other."""
        self._engine = engine
        self._store = store
        self._key = list(key)
        self.by = [schema.get_field_index(column.name) for column in ordering.by_columns]
        """The places of the columns of a group."""
        self._names = schema.names
        self._schema = schema
        by = ", ".join(f"{column.sql} AS {quoted(column.name)}" for column in ordering.by_columns)
        self._sql = f"SELECT * REPLACE ({by}), {ordering.sort_key_sql(key)} AS {_SORT_KEY} FROM rows"

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for rows in in_batches(self.stored()):
            yield StoredRows(
                kind="rows", key=tuple(self._key), rows=to_arrow_table([row.values for row in rows], self._schema)
            )

    def place(self, rows: pa.Table) -> dict[bytes, OrderedRow]:
        """Return each row of a batch, with its place, by the digest of its key."""
        if not len(rows):
            return {}
        found = self._engine.query(self._sql, rows=rows)
        sort_keys = found.column(_SORT_KEY).to_pylist()
        keys = map(digest, to_plain_rows(found.select(self._key).columns))
        values = to_plain_rows(found.select(self._names).columns, range(len(self._names)))
        groups = [digest([row[place] for place in self.by]) for row in values]
        return {
            key: OrderedRow(group, sort_key, row)
            for key, group, sort_key, row in zip(keys, groups, sort_keys, values, strict=True)
        }

    def find(self, key: bytes) -> OrderedRow | None:
        """Return the row of a key, if there is one."""
        data = get_chunks(self._store, _ROW + key)
        return None if data is None else _decode(data)

    def get(self, key: bytes) -> OrderedRow:
        """Return the row of a key that has one."""
        row = self.find(key)
        assert row is not None
        return row

    def replace(self, old: dict[bytes, OrderedRow], new: dict[bytes, OrderedRow]) -> None:
        """Put new rows where their keys had old ones, or none; the keys that have no new one are gone."""
        for key, row in old.items():
            self._store.delete(row.entry)
            if key not in new:
                delete_chunks(self._store, _ROW + key)
        for key, row in new.items():
            self._store.put(row.entry, key)
            put_chunks(self._store, _ROW + key, _encode(row))

    def stored(self) -> Iterator[OrderedRow]:
        """Iterate over all rows, as they are in the store."""
        entries = scan_pages(self._store, _ROW, _ROW + _HIGHEST * (DIGEST_BYTES + 1))
        return (_decode(data) for _, data in join_chunks(entries))

    def first(self, group: bytes, n: int | None = None) -> list[bytes]:
        """Return the keys of the first `n` rows of a group (None: of all), in their order."""
        start = _ORDER + group
        found = list(self._store.scan(start, start + _HIGHEST, n))
        alike = len(start) + _CUT
        if all(len(name) <= alike for name, _ in found):
            return [key for _, key in found]
        last = found[-1][0][:alike]
        found = [entry for entry in found if entry[0] < last]
        found += self._store.scan(last, last + _HIGHEST * (DIGEST_BYTES + 1))
        return sorted((key for _, key in found), key=lambda key: self.get(key).sort_key)[:n]
