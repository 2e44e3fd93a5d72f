"""Tumbling and sliding event-time windows: results per key and window, emitted once at their end."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.expressions import Aggregation
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row
from streamapp_runtime.operators.column_states import NotColumnarError
from streamapp_runtime.operators.column_windows import column_windows
from streamapp_runtime.operators.early_results import EarlyResults
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.merged_partials import MergedPartials
from streamapp_runtime.operators.window_assignment import WINDOW_END, WindowAssignment
from streamapp_runtime.operators.window_bounds import (
    BOUNDS,
    EMITTED_AT_ONCE,
    bound_columns,
    due_below,
    end_key,
    result_row,
)
from streamapp_runtime.operators.windowed_groups import WindowedGroups
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store

_BEHIND = b"\xff" * 8
"""Entries that begin with it lie behind those of all windows, whose keys begin with the windows' ends."""


class AlignedWindow(WindowedGroups):
    """Aggregates of each group and window."""

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        aggregation: Aggregation,
        *,
        length: int,
        step: int,
        limit: int | None = None,
        early: EarlyResults | None = None,
        inline: int | None = None,
    ) -> None:
        """Take the windows' length and the step between two of them in milliseconds.

        At most `limit` results are emitted at once. With `early`, results of open windows are emitted, too.
        More than `inline` values of a list, or of what counts them, are entries of their own.
        """
        super().__init__(GroupStates(store), WindowAssignment(length, step))
        self._early = early
        self._limit = EMITTED_AT_ONCE if limit is None else limit
        self._by = len(aggregation.by_columns)
        self._names = tuple(column.name for column in aggregation.by_columns)
        self._partials = PartialAggregator(engine, aggregation, [WINDOW_END.name])
        behind = PrefixedStore(store, _BEHIND)
        self._columns = None if early is not None else column_windows(store, aggregation)
        """The groups, as long as they can be kept as columns."""
        self._merged = MergedPartials(behind, self._partials, aggregation, self._by + 1, inline, lists=True)
        self._results = AggregateResults(engine, aggregation, BOUNDS)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Add rows to their windows."""
        assigned = self._windows.assign(rows)
        if assigned is None:
            return None
        grouped = self._partials.group(assigned)
        if self._columns is not None:
            columns = [column.combine_chunks() for column in grouped.columns]
            try:
                self._columns.merge_windows(columns[: self._by], columns[self._by], columns[self._by + 1 :])
            except NotColumnarError:
                self._leave_columns()
            else:
                return None
        partials = self._partials.plain_rows(grouped)
        keys = [end_key(partial[self._by]) + encode_key(partial[: self._by]) for partial in partials]
        self._states.merge(keys, partials, self._merged.merge_all)
        if self._early is not None:
            self._early.note(keys)
        return None

    @property
    def emits_early(self) -> bool:
        """Whether results of open windows are emitted."""
        return self._early is not None

    def emit_early(self) -> pa.Table | None:
        """Emit the results of open windows that have changed, if they are due."""
        assert self._early is not None
        due = self._early.take_due()
        return self._results.build([self._result(row) for row in self._states.get_all(due) if row is not None])

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Close the windows that end at or before the watermark: emit their results, delete their state."""
        if self._columns is not None:
            self._windows.watermark = watermark
            try:
                popped = self._columns.pop_below(due_below(watermark), self._limit)
            except NotColumnarError:
                self._leave_columns()
            else:
                return self._of_columns(popped)
        closed = self._close(watermark, self._limit)
        results = [self._result(state) for state in closed]
        for state in closed:
            self._merged.end(state)
        self._merged.delete_ended()
        return self._results.build(results)

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return super().has_pending_results if self._columns is None else self._columns.has_pending_results

    def flush(self) -> None:
        """See `Operator.flush`."""
        if self._columns is not None:
            self._columns.flush()
        super().flush()

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for states in in_batches(row for _, row in self._states.stored(end=_BEHIND)):
            rows = self._results.build([self._result(state) for state in states])
            yield StoredRows(kind="open windows", key=self._names, rows=rows)

    def _leave_columns(self) -> None:
        """Go on with rows: what has been written so far can be read as such."""
        assert self._columns is not None
        self._columns.flush()
        self._columns = None

    def _of_columns(self, popped: pa.Table) -> pa.Table | None:
        """Return the results of groups that are columns, as `_result` makes them of rows."""
        if not len(popped):
            return None
        columns = [column.combine_chunks() for column in popped.columns]
        by, end, partials = columns[: self._by], columns[self._by], columns[self._by + 1 :]
        bounds = bound_columns(end, self._windows.length)
        return self._results.build_columns([*by, *bounds, *partials, pc.subtract(end, 1)])

    def _result(self, state: Row) -> list[Any]:
        """Return all values of a group, with both bounds in the place of the end."""
        end = state[self._by]
        values = self._merged.read(state)[self._by + 1 :]
        return result_row(state[: self._by], end - self._windows.length, end, values)
