"""Tumbling event-time windows: results per key and window, given out once when the watermark passes its end."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import Aggregation
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.partials import PartialResults
from streamapp_runtime.operators.results import Results
from streamapp_runtime.rows.codec import encode_key
from streamapp_runtime.rows.event_time import event_times
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.protocol import Store

_BEGINNING = -(1 << 63)
_END = pa.field("__window_end", pa.int64())
_BOUNDS = tuple(pa.field(name, pa.timestamp("us", tz="UTC")) for name in ("window_start", "window_end"))
_MICROSECONDS = 1_000


class TumblingWindow:
    """Windows of one length, aligned to 1970 in UTC.

    State is ordered by the windows' ends, so those that are due lie first.
    """

    def __init__(self, engine: SqlEngine, store: Store, aggregation: Aggregation, length: int) -> None:
        """Take the windows' length in milliseconds."""
        self._length = length
        self._by = len(aggregation.by_columns)
        self._partials = PartialResults(engine, aggregation, [_END.name])
        self._results = Results(engine, aggregation, _BOUNDS)
        self._states = GroupStates(store)
        self._watermark = _BEGINNING
        self._late = self._undated = 0

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Add rows to their windows.

        A row whose window has been given out is late, one without event time is in no window: both are dropped and
        counted.
        """
        times, missing = event_times(rows)
        ends = times - times % self._length + self._length
        usable = ~missing & (ends > self._watermark)
        self._count(missing, usable)
        rows = rows.append_column(_END, pa.array(ends)).filter(pa.array(usable))
        partials = self._partials.of_batch(rows) if len(rows) else []
        keys = [_end_key(partial[self._by]) + encode_key(partial[: self._by]) for partial in partials]
        self._states.merge(keys, partials, self._partials.merge)
        return None

    def advance(self, watermark: int) -> pa.Table | None:
        """Give out the windows that end at or before the watermark, and forget them."""
        self._watermark = watermark
        due = self._states.take_below(_end_key(min(watermark, END_OF_TIME - 1) + 1))
        return self._results.of_states([self._with_bounds(state) for state in due])

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"late": self._late, "undated": self._undated}

    def _count(self, missing: npt.NDArray[np.bool_], usable: npt.NDArray[np.bool_]) -> None:
        undated = int(missing.sum())
        self._undated += undated
        self._late += len(usable) - undated - int(usable.sum())

    def _with_bounds(self, state: list[Any]) -> list[Any]:
        """Put both bounds in place of the end; the event time of a result is the last moment of its window."""
        end = state[self._by]
        bounds = [(end - self._length) * _MICROSECONDS, end * _MICROSECONDS]
        return [*state[: self._by], *bounds, *state[self._by + 1 :], end - 1]


def _end_key(end: int) -> bytes:
    """Write a window's end so that bytes order as numbers do."""
    return (end - _BEGINNING).to_bytes(8, "big")
