"""Joins of rows that replace each other: a row that changes or goes takes its pairs with it.

The store has the rows of each side by the value that they are joined by, and the value of each row by its key. Values
and keys are digests there, so that all names have one length.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from streamapp_runtime.operators.joined_rows import LEFT, RIGHT, JoinedRows, stored_sides
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, latest_event_time
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import (
    DIGEST_BYTES,
    decode_row,
    digest,
    encode_row,
    to_arrow_table,
    to_plain_rows,
)
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_NAMES = (b"l", b"r")
_ROW, _VALUE = b"r", b"v"
_HIGHEST = b"\xff" * (DIGEST_BYTES + 1)

_Row = Sequence[Any]


class _Side:
    """The rows of one side as they are now: plain values of all columns, the event time last."""

    def __init__(
        self,
        store: Store,
        name: bytes,
        schema: pa.Schema,
        join_columns: Sequence[str],
        key: Sequence[str],
        *,
        kept_alone: bool,
    ) -> None:
        """Open the entries with a name; rows that are `kept_alone` are there even if nulls in them equal nothing."""
        self._store = store
        self._rows, self._values = name + _ROW, name + _VALUE
        self.schema = schema.append(EVENT_TIME_FIELD)
        self._join_columns = list(join_columns)
        self.key = list(key)
        self._kept_alone = kept_alone

    def new_rows(self, rows: pa.Table) -> dict[bytes, tuple[bytes | None, _Row]]:
        """Return for each row by its key the value that it is joined by, None if it is not kept, and the row."""
        names = self.schema.names
        keys = map(digest, to_plain_rows(rows.select(self.key).columns)) if len(rows) else ()
        values = to_plain_rows(rows.select(self._join_columns).columns) if len(rows) else ()
        plain = to_plain_rows(rows.select(names).columns, range(len(names))) if len(rows) else ()
        return {
            key: (None if None in value and not self._kept_alone else digest(value), row)
            for key, value, row in zip(keys, values, plain, strict=True)
        }

    def value_of(self, key: bytes) -> bytes | None:
        """Return the value that the row with a key is joined by; None if there is no such row."""
        return self._store.get(self._values + key)

    def row(self, key: bytes, value: bytes) -> _Row:
        """Return a row."""
        data = get_chunks(self._store, self._rows + value + key)
        assert data is not None
        return decode_row(data)

    def rows_with(self, value: bytes) -> list[_Row]:
        """Return the rows that are joined by a value."""
        start = self._rows + value
        return [decode_row(data) for _, data in join_chunks(self._store.scan(start, start + _HIGHEST))]

    def stored(self) -> Iterator[pa.Table]:
        """Iterate over all rows, as they are in the store."""
        entries = scan_pages(self._store, self._rows, self._rows + _HIGHEST * 2)
        for rows in in_batches(decode_row(data) for _, data in join_chunks(entries)):
            yield to_arrow_table(rows, self.schema)

    def remove(self, key: bytes, value: bytes) -> None:
        """Remove a row."""
        self._store.delete(self._values + key)
        delete_chunks(self._store, self._rows + value + key)

    def put(self, key: bytes, value: bytes, row: _Row) -> None:
        """Put a row in the place of that which has its key now."""
        self._store.put(self._values + key, value)
        put_chunks(self._store, self._rows + value + key, encode_row(row))


class UpsertJoin(BaseOperator):
    """Joins of all rows of both sides as they are now; no row is late.

    A pair has the later of both event times, one that is deleted the latest event time of the batch. A join that
    `keeps_left` emits each left row, with nulls while it has no partner: its key tells results apart, as a left row has
    one partner at most.
    """

    max_output_delay = 0

    def __init__(
        self,
        store: Store,
        *,
        join_columns: tuple[Sequence[str], Sequence[str]],
        schemas: tuple[pa.Schema, pa.Schema],
        keys: tuple[Sequence[str], Sequence[str]],
        emitted_key: Sequence[str],
        deletes: bool,
        keeps_left: bool = False,
    ) -> None:
        """Take for the left and the right side the columns to join on, all columns, and those of the key.

        `emitted_key` are the columns that tell pairs apart. Pairs that `deletes` says may be deleted have the column
        that marks it.
        """
        self._sides = [
            _Side(store, *side, kept_alone=keeps_left and number == LEFT)
            for number, side in enumerate(zip(_NAMES, schemas, join_columns, keys, strict=True))
        ]
        self._keeps_left = keeps_left
        self._joined = JoinedRows(join_columns, schemas)
        self._key = list(emitted_key)
        self._deletes = deletes

    def process_left(self, rows: pa.Table) -> pa.Table | None:
        """Process changes of the left side; return those of the pairs."""
        return self._process(rows, LEFT)

    def process_right(self, rows: pa.Table) -> pa.Table | None:
        """Process changes of the right side; return those of the pairs."""
        return self._process(rows, RIGHT)

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        left, right = self._sides
        return stored_sides((left.key, right.key), [left.stored(), right.stored()])

    def _process(self, rows: pa.Table, number: int) -> pa.Table | None:
        side, other = self._sides[number], self._sides[1 - number]
        added, gone = latest_changes(rows, side.key)
        new = side.new_rows(added)
        before = {key: value for key in (*map(digest, gone), *new) if (value := side.value_of(key)) is not None}
        now = {key: value for key, (value, _) in new.items() if value is not None}
        partners = {value: other.rows_with(value) for value in {*before.values(), *now.values()}}
        left = {key: value for key, value in before.items() if now.get(key) != value}
        behind = {key: side.row(key, value) for key, value in left.items()}
        taken = [(behind[key], partner) for key, value in left.items() for partner in partners[value]]
        given = [(new[key][1], partner) for key, value in now.items() for partner in partners[value]]
        for key, value in left.items():
            side.remove(key, value)
        for key, value in now.items():
            side.put(key, value, new[key][1])
        emitted, deleted = self._pairs(given, number), self._pairs(taken, number)
        if self._keeps_left and number == LEFT:
            emitted = pa.concat_tables([emitted, self._alone([new[key][1] for key in now if not partners[now[key]]])])
            deleted = self._alone([*behind.values()])
        elif self._keeps_left:
            values = {*left.values()} - {*now.values()}
            emitted = pa.concat_tables([emitted, self._alone([row for value in values for row in partners[value]])])
        if self._deletes:
            emitted = self._with_deletions(emitted, deleted, latest_event_time(rows))
        return emitted if len(emitted) else None

    def _pairs(self, pairs: Sequence[tuple[_Row, _Row]], number: int) -> pa.Table:
        """Return the rows that pairs make, of rows of a side and of the other one."""
        ordered = pairs if number == LEFT else [(theirs, mine) for mine, theirs in pairs]
        left, right = (
            to_arrow_table([pair[place] for pair in ordered], side.schema) for place, side in enumerate(self._sides)
        )
        return self._joined.pair(left, right)

    def _alone(self, rows: Sequence[_Row]) -> pa.Table:
        """Return the rows that left rows without a partner make."""
        return self._joined.left_alone(to_arrow_table(rows, self._sides[LEFT].schema))

    def _with_deletions(self, emitted: pa.Table, pairs: pa.Table, time: int | None) -> pa.Table:
        """Return the deletions of those pairs that no emitted one replaces, and then these."""
        there = set(to_plain_rows(emitted.select(self._key).columns)) if len(emitted) else set()
        keys = to_plain_rows(pairs.select(self._key).columns) if len(pairs) else []
        gone = pairs.filter(pa.array([key not in there for key in keys], pa.bool_()))
        times = pa.repeat(pa.scalar(time, pa.int64()), len(gone))
        deleted = gone.set_column(len(gone.column_names) - 1, EVENT_TIME_FIELD, times)
        flags = [*([True] * len(deleted)), *([False] * len(emitted))]
        return with_deleted_column(pa.concat_tables([deleted, emitted]), flags)
