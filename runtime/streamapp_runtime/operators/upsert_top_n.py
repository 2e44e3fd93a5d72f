"""The first rows of groups of rows that replace each other: where a row changes or goes, others move up or down.

All rows are kept, since each may become one of the first: their values by their keys, and the keys of each group in its
order. A batch reads the first of a group before and after its changes, so a change costs as much as n rows and one
search, however many there are.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_core.expressions.typed_sql import quoted
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.row_ranking import PLACE, with_place
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, latest_event_time
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import DIGEST_BYTES, MAXIMUM_KEY, digest, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.store import Store

_ROW, _ORDER = b"r", b"o"
_SORT_KEY = "__sort_key"
_LONGEST_SORT_KEY = MAXIMUM_KEY - DIGEST_BYTES - len(_ORDER)
_CUT = _LONGEST_SORT_KEY - DIGEST_BYTES
_HIGHEST = b"\xff"


class _KeptRow(msgspec.Struct, array_like=True):
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
_decode = msgspec.msgpack.Decoder(_KeptRow).decode


class _Result(NamedTuple):
    """A result: by the digest of its group, and its place there; or by the digest of its row's key, and 0."""

    digest: bytes
    place: int


class UpsertTopN(BaseOperator):
    """Rows with a place among the first n of their group, as all rows are now; no row is late.

    A result is told apart by its group and place, or by the row's own key, and deleted where there is none any more. Of
    rows that are equal in the order that with the least key is the first. What a batch changes has its latest event
    time.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        ordering: Ordering,
        schema: pa.Schema,
        key: Sequence[str],
        *,
        n: int,
        place: str | None,
        deletes: bool,
    ) -> None:
        """Take the columns of the rows, and those of the key by which rows replace each other.

        Without `place`, a column to add, several rows of a group are told apart by that key. Results that `deletes`
        says may be deleted have the column that marks it.
        """
        self._engine = engine
        self._store = store
        self._key = list(key)
        self._n = n
        self._place = place
        self._deletes = deletes
        self._by_key = place is None and n > 1
        self._by = [schema.get_field_index(column.name) for column in ordering.by_columns]
        self._names = schema.names
        self._ranked = pa.schema([*schema, EVENT_TIME_FIELD, pa.field(PLACE, pa.int64())])
        by = ", ".join(f"{column.sql} AS {quoted(column.name)}" for column in ordering.by_columns)
        self._sql = f"SELECT * REPLACE ({by}), {ordering.sort_key_sql(key)} AS {_SORT_KEY} FROM rows"

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        added, gone = latest_changes(rows, self._key)
        new = self._sorted(added)
        changed = [*map(digest, gone), *new]
        old = {key: row for key in changed if (row := self._load(key)) is not None}
        groups = {row.group: row for row in (*old.values(), *new.values())}
        before = self._first_rows(groups)
        for key, row in old.items():
            self._store.delete(row.entry)
            if key not in new:
                delete_chunks(self._store, _ROW + key)
        for key, row in new.items():
            self._store.put(row.entry, key)
            put_chunks(self._store, _ROW + key, _encode(row))
        after = self._first_rows(groups)
        time = latest_event_time(rows)
        deleted = []
        for one, key in before.items():
            if one not in after:
                row = (old.get(key) or self._kept(key)) if self._by_key else groups[one.digest]
                deleted.append([*self._gone(row), time, one.place])
        known = frozenset(changed)
        emitted = [
            [*(new.get(key) or self._kept(key)).values, time, one.place]
            for one, key in after.items()
            if before.get(one) != key or key in known
        ]
        return self._built(deleted, emitted)

    def _sorted(self, rows: pa.Table) -> dict[bytes, _KeptRow]:
        """Return each row by the digest of its key."""
        if not len(rows):
            return {}
        found = self._engine.query(self._sql, rows=rows)
        sort_keys = found.column(_SORT_KEY).to_pylist()
        keys = map(digest, to_plain_rows(found.select(self._key).columns))
        values = to_plain_rows(found.select(self._names).columns, range(len(self._names)))
        groups = [digest([row[place] for place in self._by]) for row in values]
        return {
            key: _KeptRow(group, sort_key, row)
            for key, group, sort_key, row in zip(keys, groups, sort_keys, values, strict=True)
        }

    def _first_rows(self, groups: Iterable[bytes]) -> dict[_Result, bytes]:
        """Return the keys of the first rows of groups, by what tells their results apart."""
        return {
            _Result(key if self._by_key else group, 0 if self._by_key else place): key
            for group in groups
            for place, key in enumerate(self._first(group), 1)
        }

    def _first(self, group: bytes) -> list[bytes]:
        """Return the keys of the first rows of a group, in their order."""
        start = _ORDER + group
        found = list(self._store.scan(start, start + _HIGHEST, self._n))
        alike = len(start) + _CUT
        if all(len(name) <= alike for name, _ in found):
            return [key for _, key in found]
        last = found[-1][0][:alike]
        found = [entry for entry in found if entry[0] < last]
        found += self._store.scan(last, last + _HIGHEST * (DIGEST_BYTES + 1))
        return sorted((key for _, key in found), key=lambda key: self._kept(key).sort_key)[: self._n]

    def _gone(self, row: _KeptRow) -> Sequence[Any]:
        """Return the values of a deletion: of a place only the group's columns, which it had whoever was there."""
        if self._by_key:
            return row.values
        return [value if place in self._by else None for place, value in enumerate(row.values)]

    def _built(self, deleted: list[list[Any]], emitted: list[list[Any]]) -> pa.Table | None:
        if not deleted and not emitted:
            return None
        rows = with_place(to_arrow_table([*deleted, *emitted], self._ranked), self._place)
        assert self._deletes or not deleted
        flags = [*([True] * len(deleted)), *([False] * len(emitted))]
        return with_deleted_column(rows, flags) if self._deletes else rows

    def _load(self, key: bytes) -> _KeptRow | None:
        data = get_chunks(self._store, _ROW + key)
        return None if data is None else _decode(data)

    def _kept(self, key: bytes) -> _KeptRow:
        row = self._load(key)
        assert row is not None
        return row
