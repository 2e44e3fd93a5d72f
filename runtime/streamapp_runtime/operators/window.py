"""Tumbling event-time windows: results per key and window, given out once when the watermark passes its end."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.partials import PartialResults
from streamapp_runtime.operators.results import Results
from streamapp_runtime.rows.codec import encode_key
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.protocol import Store

_BEGINNING, _END = -(1 << 63), (1 << 63) - 1
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_MICROSECONDS = 1_000


class TumblingWindow:
    """Windows of one length, aligned to 1970 in UTC.

    State is ordered by the windows' ends, so those that are due lie first.
    """

    def __init__(self, engine: SqlEngine, store: Store, aggregation: Aggregation, length: int) -> None:
        """Take the windows' length in milliseconds."""
        self._length = length
        self._by = len(aggregation.by_columns)
        time = f'"{EVENT_TIME_COLUMN}"'
        self._end_sql = f"{time} - (({time} % {length}) + {length}) % {length} + {length}"
        by = [f'"{column.name}"' for column in aggregation.by_columns]
        self._partials = PartialResults(engine, aggregation, [*by, f"{self._end_sql} AS __end"])
        bounds = [pa.field("window_start", _TIMESTAMP), pa.field("window_end", _TIMESTAMP)]
        self._results = Results(engine, aggregation, bounds)
        self._states = GroupStates(store)
        self._watermark = _BEGINNING
        self._late = self._undated = 0

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Add rows to their windows. A row whose window has been given out is late: dropped and counted."""
        undated = rows.column(EVENT_TIME_COLUMN).null_count
        condition = f'"{EVENT_TIME_COLUMN}" IS NOT NULL AND {self._end_sql} > {self._watermark}'
        grouped, used = self._partials.of_batch(rows, condition)
        for partial in grouped:
            key = _end_key(partial[self._by]) + encode_key(partial[: self._by])
            self._states.put(key, self._partials.merge(self._states.get(key), partial))
        self._undated += undated
        self._late += len(rows) - undated - used
        return None

    def advance(self, watermark: int) -> pa.Table | None:
        """Give out the windows that end at or before the watermark, and forget them."""
        self._watermark = watermark
        due = self._states.take_below(_end_key(min(watermark, _END - 1) + 1))
        return self._results.of_states([self._result(state) for state in due])

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"late": self._late, "undated": self._undated}

    def _result(self, state: list[Any]) -> list[Any]:
        """Put both bounds in place of the end; a window's result has the last moment in it as its event time."""
        end = state[self._by]
        bounds = [(end - self._length) * _MICROSECONDS, end * _MICROSECONDS]
        return [*state[: self._by], *bounds, *state[self._by + 1 : -1], end - 1]


def _end_key(end: int) -> bytes:
    """Write a window's end so that bytes order as numbers do."""
    return (end - _BEGINNING).to_bytes(8, "big")
