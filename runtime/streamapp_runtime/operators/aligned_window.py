"""Tumbling and sliding event-time windows: results per key and window, emitted once at their end."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.window_bounds import BEGINNING, BOUNDS, due_below, end_key, result_row
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store

_END = pa.field("__window_end", pa.int64())

_EMITTED_AT_ONCE = 500_000
"""Results per commit: what follows from them must fit a commit that takes seconds."""


class AlignedWindow(BaseOperator):
    """Windows of one length that start at the multiples of a step, counted from 1970 in UTC.

    A row counts in every window that holds its event time: in one if the step is the length (tumbling windows). State
    is ordered by the windows' ends, so those that are due lie first.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        aggregation: Aggregation,
        *,
        length: int,
        step: int,
        limit: int | None = None,
    ) -> None:
        """Take the windows' length and the step between two of them in milliseconds.

        At most `limit` results are emitted at once.
        """
        self._limit = _EMITTED_AT_ONCE if limit is None else limit
        self._length = length
        self._step = step
        self._by = len(aggregation.by_columns)
        self._partials = PartialAggregator(engine, aggregation, [_END.name])
        self._results = AggregateResults(engine, aggregation, BOUNDS)
        self._states = GroupStates(store)
        self._watermark = BEGINNING
        self._late = self._undated = 0

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Add rows to their windows.

        A row whose windows have all been closed, or were never opened, is late; one without event time is in no
        window. Both are dropped and counted.
        """
        times, missing = event_times(rows)
        last = times - times % self._step + self._length
        used = np.zeros(len(rows), np.bool_)
        assigned = []
        for ends in (last - back for back in range(0, self._length, self._step)):
            counts = ~missing & (times < ends) & (ends > self._watermark)
            used |= counts
            if counts.any():
                assigned.append(rows.append_column(_END, pa.array(ends)).filter(pa.array(counts)))
        self._undated += int(missing.sum())
        self._late += int((~missing & ~used).sum())
        partials = self._partials.aggregate(pa.concat_tables(assigned)) if assigned else []
        keys = [end_key(partial[self._by]) + encode_key(partial[: self._by]) for partial in partials]
        self._states.merge(keys, partials, self._partials.merge_all)
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Close the windows that end at or before the watermark: emit their results, delete their state."""
        self._watermark = watermark
        due = self._states.pop_below(due_below(watermark), self._limit)
        return self._results.build([self._with_bounds(state) for state in due])

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._watermark = watermark

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._states.has_pending_results

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"late": self._late, "undated": self._undated}

    def _with_bounds(self, state: Sequence[Any]) -> list[Any]:
        """Replace the end by both bounds."""
        end = state[self._by]
        return result_row(state[: self._by], end - self._length, end, state[self._by + 1 :])
