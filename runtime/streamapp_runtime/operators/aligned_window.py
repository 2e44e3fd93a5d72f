"""Tumbling and sliding event-time windows: results per key and window, given out once when the watermark is there."""

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
_MOST = 500_000
"""What follows from the results that are given out at once must fit a commit that takes seconds."""


class AlignedWindow(BaseOperator):
    """Windows of one length that start at the multiples of a step, counted from 1970 in UTC.

    A row counts in every window that holds its event time: in one if the step is the length (tumbling windows). State
    is ordered by the windows' ends, so those that are due lie first.
    """

    def __init__(
        self, engine: SqlEngine, store: Store, aggregation: Aggregation, *, length: int, step: int, most: int = _MOST
    ) -> None:
        """Take the windows' length and the step between two of them in milliseconds.

        At most so many results are given out at once.
        """
        self._most = most
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

        A row whose windows have all been given out, or were never opened, is late; one without event time is in no
        window. Both are dropped and counted.
        """
        times, missing = event_times(rows)
        last = times - times % self._step + self._length
        used = np.zeros(len(rows), np.bool_)
        pieces = []
        for ends in (last - back for back in range(0, self._length, self._step)):
            counts = ~missing & (times < ends) & (ends > self._watermark)
            used |= counts
            if counts.any():
                pieces.append(rows.append_column(_END, pa.array(ends)).filter(pa.array(counts)))
        self._undated += int(missing.sum())
        self._late += int((~missing & ~used).sum())
        partials = self._partials.aggregate(pa.concat_tables(pieces)) if pieces else []
        keys = [end_key(partial[self._by]) + encode_key(partial[: self._by]) for partial in partials]
        self._states.merge(keys, partials, self._partials.merge_all)
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Give out the windows that end at or before the watermark, and forget them."""
        self._watermark = watermark
        due = self._states.take_below(due_below(watermark), self._most)
        return self._results.build([self._with_bounds(state) for state in due])

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
        """Put both bounds in place of the end."""
        end = state[self._by]
        return result_row(state[: self._by], end - self._length, end, state[self._by + 1 :])
