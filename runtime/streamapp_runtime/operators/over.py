"""Rows with the aggregates of the last rows of their group, by event time (docs/windows-and-joins.md)."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import OverFrames
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.expressions.typed_sql import quoted
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.event_time_sort import EventTimeSort
from streamapp_runtime.operators.expiring_states import ExpiringStates
from streamapp_runtime.operators.frame_results import FrameResults, add_results
from streamapp_runtime.operators.group_states import CACHED_ROWS, GroupStates
from streamapp_runtime.operators.sorted_run import RowIndices
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, event_times
from streamapp_runtime.rows.row_codec import encode_key, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store

_WAITING, _GROUPS = b"w", b"g"


class Over(EventTimeSort):
    """Emits rows by event time once the watermark has passed them; of equal times those with the least columns first.

    A frame has at most `rows` rows, none of them earlier than `reach` milliseconds before its last one. Without `rows`
    it has also those of the same time that come behind. The store has the rows that wait, and those of each group that
    later frames may have. A row older than the watermark is late, one without event time has no place in the order:
    both are dropped and counted.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        frames: OverFrames,
        schema: pa.Schema,
        *,
        rows: int | None,
        reach: int | None,
        limit: int | None = None,
    ) -> None:
        """Take the columns of the rows; emit about `limit` rows at once."""
        self._engine = engine
        self._rows, self._reach = rows, reach
        super().__init__(PrefixedStore(store, _WAITING), limit)
        groups, cached = PrefixedStore(store, _GROUPS), CACHED_ROWS // (rows or 1)
        self._expiring = None if reach is None else ExpiringStates(groups, reach, cached)
        self._states = self._expiring or GroupStates(groups, cached)
        self._results = FrameResults(engine, frames.aggregation)
        self._by = [column.name for column in frames.aggregation.by_columns]
        used = columns_used(frames.aggregation)
        self._kept = pa.schema([*(field for field in schema if field.name.lower() in used), EVENT_TIME_FIELD])
        by = ", ".join(f"{column.sql} AS {quoted(column.name)}" for column in frames.aggregation.by_columns)
        self._groups_sql = f"SELECT {by} FROM rows"
        order = ", ".join(map(quoted, [EVENT_TIME_COLUMN, *frames.ordering.names]))
        self._order_sql = f"SELECT * FROM rows ORDER BY {order}"

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Emit the rows before the watermark; forget the groups whose rows are too early for those to come."""
        rows = super().advance_watermark(watermark)
        if rows is not None and self.has_pending_results:
            rows = self._with_equal_times(rows)
        emitted = None if rows is None else self._emit(self._engine.query(self._order_sql, rows=rows))
        if self._expiring is not None and not self.has_pending_results and watermark != END_OF_TIME:
            self._expiring.expire(self._first_counted(watermark))
        return emitted

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        yield from super().stored_rows()
        for states in in_batches(state for _, state in self._states.stored()):
            rows = to_arrow_table([row for state in states for row in state[:-1]], self._kept)
            yield StoredRows(kind="rows of frames", key=(), rows=rows)

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        super().resume(watermark)
        waits = self._pending.earliest
        if self._expiring is not None:
            self._expiring.resume(self._first_counted(watermark if waits is None else min(waits, watermark)))

    def flush(self) -> None:
        """See `Operator.flush`."""
        super().flush()
        self._states.flush()

    def _first_counted(self, time: int) -> int:
        """Return the earliest time that counts for rows of a time."""
        return time - (self._reach or 0)

    def _with_equal_times(self, rows: pa.Table) -> pa.Table:
        """Return rows with those that wait and have the time of the last one: they are sorted together."""
        last = int(event_times(rows)[0][-1])
        rest = self._pending.take(last, sys.maxsize)
        return rows if rest is None else pa.concat_tables([rows, rest.rows])

    def _emit(self, rows: pa.Table) -> pa.Table:
        """Return sorted rows with the aggregates of their frames; keep what later frames may have."""
        keys = self._group_keys(rows)
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        states = self._states.get_all(numbers)
        before = [[] if state is None else state[:-1] for state in states]
        kept = rows.select(self._kept.names).cast(self._kept)
        groups = np.array([numbers[key] for key in keys])
        results = self._frame_results(before, kept, groups)
        self._keep(list(numbers), before, kept, groups)
        return add_results(rows, results)

    def _group_keys(self, rows: pa.Table) -> list[bytes]:
        return [encode_key(values) for values in to_plain_rows(self._engine.query(self._groups_sql, rows=rows).columns)]

    def _frame_results(self, before: Sequence[Sequence[Sequence[Any]]], rows: pa.Table, groups: RowIndices) -> pa.Table:
        """Return the aggregates of the frame of each row, which may begin among the rows before of its group."""
        counts = list(map(len, before))
        earlier = to_arrow_table([row for group in before for row in group], self._kept)
        known = pa.concat_tables([earlier, rows])
        times, _ = event_times(known)
        of_group = np.concatenate([np.repeat(np.arange(len(before)), counts), groups])
        order = np.argsort(of_group, kind="stable")
        first, end = self._frames(of_group[order], times[order])
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        new = places[len(earlier) :]
        return self._results.compute(known.take(pa.array(order)).combine_chunks(), first[new], end[new])

    def _frames(self, groups: RowIndices, times: RowIndices) -> tuple[RowIndices, RowIndices]:
        """Return the frames of all rows, which are sorted by group and time: [first, end)."""
        places = np.arange(len(groups))
        first, end = np.searchsorted(groups, groups, "left"), places + 1
        if self._rows is not None:
            first = np.maximum(first, places + 1 - self._rows)
        if self._reach is not None:
            every = np.unique(times)
            ranks = groups * (len(every) + 1)
            in_order = ranks + np.searchsorted(every, times)
            first = np.maximum(
                first, np.searchsorted(in_order, ranks + np.searchsorted(every, times - self._reach), "left")
            )
            if self._rows is None:
                end = np.searchsorted(in_order, in_order, "right")
        return first, end

    def _keep(
        self, keys: Sequence[bytes], before: Sequence[Sequence[Sequence[Any]]], rows: pa.Table, groups: RowIndices
    ) -> None:
        """Keep the last rows of each group, and behind them the time of the last one."""
        added: list[list[Sequence[Any]]] = [[] for _ in keys]
        for row, group in zip(to_plain_rows(rows.columns, range(len(self._kept))), groups.tolist(), strict=True):
            added[group].append(row)
        kept = [self._last([*old, *new]) for old, new in zip(before, added, strict=True)]
        self._states.put_all(keys, [[*group, new[-1][-1]] for group, new in zip(kept, added, strict=True)])

    def _last(self, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return those rows of a group that frames of later rows may have."""
        if self._rows is not None:
            rows = rows[max(len(rows) - self._rows + 1, 0) :]
        if self._reach is None:
            return rows
        earliest = self._first_counted(rows[-1][-1]) if rows else 0
        return [row for row in rows if row[-1] >= earliest]
