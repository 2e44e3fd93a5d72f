"""Running aggregates over rows that replace each other: a row that changes first takes back what it contributed.

A row counts as a partial result of its own. Sums and counts are kept exactly, and distinct values with how often each
came, so that a contribution can be taken out; other results are merged again from the contributions of the group where
the one that is taken out may have decided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa

from streamapp_core.expressions import FOLDS, Aggregation, Merge
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row, event_time_partial
from streamapp_runtime.operators.distinct_entries import DistinctEntries
from streamapp_runtime.operators.exact_sums import EMPTY, add_value, is_exact, sum_of
from streamapp_runtime.operators.moments import BatchValues
from streamapp_runtime.operators.numbered_entries import NumberedEntries
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import DIGEST_BYTES, digest
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_CONTRIBUTION, _MEMBER, _GROUP, _NEXT = b"c", b"m", b"g", b"n"
_LATEST = event_time_partial(EVENT_TIME_COLUMN, Merge.MAX)


class _Contribution(msgspec.Struct, array_like=True):
    """The partial results of one row, with the group that they count in and a number that rises with each change."""

    number: int
    group: bytes
    partials: list[Any]


class _Group(msgspec.Struct, array_like=True):
    """A group: its columns, how many rows count in it, its partial results (exact sums, counted values), its time."""

    by: list[Any]
    rows: int
    partials: list[Any]
    time: int | None


_encode = msgspec.msgpack.Encoder().encode
_contribution = msgspec.msgpack.Decoder(_Contribution).decode
_group = msgspec.msgpack.Decoder(_Group).decode


class RetractingAggregate(BaseOperator):
    """Results per group of the rows as they are now; a group without rows is deleted.

    The store has the contribution of each row by its key, the groups, and, if some results are merged again, the keys
    of each group.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        aggregation: Aggregation,
        key: Sequence[str],
        *,
        inline: int | None = None,
    ) -> None:
        """Take the columns of the key by which rows replace each other.

        More than `inline` distinct values of a group are entries of their own.
        """
        self._store = store
        self._key = list(key)
        timed = replace(aggregation, partials=(*aggregation.partials, _LATEST))
        self._by = len(aggregation.by_columns)
        self._names = tuple(column.name for column in aggregation.by_columns)
        self._first = self._by + len(self._key)
        self._rows = PartialAggregator(engine, timed, [f"__key_{place}" for place in range(len(self._key))])
        self._results = AggregateResults(engine, aggregation)
        self._partials = aggregation.partials
        self._exact = [partial.merge is Merge.SUM and is_exact(partial.type) for partial in self._partials]
        self._extreme = [partial.merge in (Merge.MIN, Merge.MAX) for partial in self._partials]
        self._distinct = [partial.merge is Merge.UNION for partial in self._partials]
        self._entries = DistinctEntries(NumberedEntries(store), counted=True, inline=inline)
        self._taken_back = [exact or distinct for exact, distinct in zip(self._exact, self._distinct, strict=True)]
        """The partial results that a contribution can be taken out of."""
        self._remembers = not all(self._taken_back)
        number = store.get(_NEXT)
        self._number = self._stored_number = 0 if number is None else int(number)
        self._changed: dict[bytes, _Group] = {}

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        added, gone = latest_changes(rows, self._key)
        self._changed = {}
        again: set[bytes] = set()
        contributions = list(self._contributions(added))
        for key in map(digest, gone):
            self._take_out(key, again)
            delete_chunks(self._store, _CONTRIBUTION + key)
        for key, _, _ in contributions:
            self._take_out(key, again)
        for key, by, partials in contributions:
            self._put_in(key, by, partials)
        for group in again:
            self._merge_again(group)
        return self._emit()

    def flush(self) -> None:
        """See `Operator.flush`."""
        if self._number != self._stored_number:
            self._store.put(_NEXT, b"%d" % self._number)
            self._stored_number = self._number

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        entries = scan_pages(self._store, _GROUP, _GROUP + b"\xff" * (DIGEST_BYTES + 1))
        for groups in in_batches(_group(data) for _, data in join_chunks(entries)):
            rows = self._results.build([[*group.by, *self._values(group), group.time] for group in groups])
            yield StoredRows(kind="groups", key=self._names, rows=rows)

    def _contributions(self, rows: pa.Table) -> Iterator[tuple[bytes, list[Any], list[Any]]]:
        """Return for each row its key, the columns of its group and its partial results, the event time last."""
        if not len(rows):
            return
        for place, name in enumerate(self._key):
            rows = rows.append_column(f"__key_{place}", rows.column(name))
        for partial in self._rows.aggregate(rows):
            yield digest(partial[self._by : self._first]), list(partial[: self._by]), list(partial[self._first :])

    def _take_out(self, key: bytes, again: set[bytes]) -> None:
        data = get_chunks(self._store, _CONTRIBUTION + key)
        if data is None:
            return
        before = _contribution(data)
        group = self._load(before.group)
        group.rows -= 1
        for place, value in enumerate(before.partials):
            if self._exact[place]:
                group.partials[place] = add_value(group.partials[place], self._partials[place].type, value, -1)
            elif self._distinct[place]:
                group.partials[place] = self._entries.count_values(group.partials[place], value, -1)
            elif value is not None and (not self._extreme[place] or _same(value, group.partials[place])):
                again.add(before.group)
        if self._remembers:
            self._store.delete(_MEMBER + before.group + key)

    def _put_in(self, key: bytes, by: list[Any], partials: list[Any]) -> None:
        *contributed, time = partials
        name = digest(by)
        group = self._load(name, by)
        group.rows += 1
        group.time = time if group.time is None else max(group.time, group.time if time is None else time)
        merged = self._merge([None if apart else held for apart, held in self._held(group)], contributed)
        for place, exact in enumerate(self._exact):
            if exact:
                kind = self._partials[place].type
                group.partials[place] = add_value(group.partials[place], kind, contributed[place], 1)
            elif self._distinct[place]:
                group.partials[place] = self._entries.count_values(group.partials[place], contributed[place])
            else:
                group.partials[place] = merged[place]
        self._number += 1
        held = [value.values if isinstance(value, BatchValues) else value for value in contributed]
        put_chunks(self._store, _CONTRIBUTION + key, _encode(_Contribution(self._number, name, held)))
        if self._remembers:
            self._store.put(_MEMBER + name + key, b"")

    def _merge_again(self, name: bytes) -> None:
        """Merge what is not exact from the contributions of a group, in the order in which they came."""
        start = _MEMBER + name
        keys = [entry[len(start) :] for entry, _ in self._store.scan(start, start + b"\xff" * (DIGEST_BYTES + 1))]
        found = [get_chunks(self._store, _CONTRIBUTION + key) for key in keys]
        members = sorted((_contribution(data) for data in found if data is not None), key=lambda one: one.number)
        merged: list[Any] = [None] * len(self._partials)
        for member in members:
            merged = self._merge(merged, self._as_batch(member.partials))
        group = self._load(name)
        group.partials = [
            held if apart else again for (apart, held), again in zip(self._held(group), merged, strict=True)
        ]

    def _merge(self, before: Row, added: Row) -> list[Any]:
        padding = [None] * self._first
        return self._rows.merge([*padding, *before, None], [*padding, *added, None])[self._first : -1]

    def _as_batch(self, partials: list[Any]) -> list[Any]:
        return [
            BatchValues(value) if value is not None and partial.merge in FOLDS else value
            for value, partial in zip(partials, self._partials, strict=True)
        ]

    def _held(self, group: _Group) -> Iterator[tuple[bool, Any]]:
        return zip(self._taken_back, group.partials, strict=True)

    def _load(self, name: bytes, by: list[Any] | None = None) -> _Group:
        group = self._changed.get(name)
        if group is None:
            data = get_chunks(self._store, _GROUP + name)
            empty = [EMPTY if exact else None for exact in self._exact]
            group = _Group(by or [], 0, empty, None) if data is None else _group(data)
            self._changed[name] = group
        return group

    def _emit(self) -> pa.Table | None:
        """Store the groups that changed, and return their results; those without rows are deleted."""
        if not self._changed:
            return None
        results, deleted = [], []
        for name, group in self._changed.items():
            if group.rows:
                put_chunks(self._store, _GROUP + name, _encode(group))
            else:
                delete_chunks(self._store, _GROUP + name)
            results.append([*group.by, *self._values(group), group.time])
            deleted.append(not group.rows)
        self._changed = {}
        built = self._results.build(results)
        return None if built is None else with_deleted_column(built, deleted)

    def _values(self, group: _Group) -> Iterator[Any]:
        """Return what the results of a group are computed from."""
        for place, held in enumerate(group.partials):
            if self._exact[place]:
                yield sum_of(held, self._partials[place].type)
            else:
                yield held


def _same(value: Any, other: Any) -> bool:  # noqa: ANN401 - plain values of one type
    """Compare values; NaN equals NaN."""
    return bool(value == other or (value != value and other != other))  # noqa: PLR0124 - only NaN differs from itself
