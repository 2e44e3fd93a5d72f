"""Rows that come in time for an operator's state; those that don't are dropped and counted."""

from collections.abc import Mapping

import pyarrow as pa

from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.event_time_column import event_times


class TimelyRows:
    """Drops rows that are older than the watermark by more than is allowed (late), or have no event time (undated)."""

    def __init__(self, allowed: int = 0) -> None:
        """Take in milliseconds by how much a row may be older than the watermark."""
        self._allowed = allowed
        self._late = self._undated = 0
        self.earliest = BEGINNING
        """The event time before which rows are late."""

    def advance(self, watermark: int) -> None:
        """Continue at a watermark."""
        self.earliest = max(watermark - self._allowed, BEGINNING)

    def filter(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are in time."""
        times, missing = event_times(rows)
        late = ~missing & (times < self.earliest)
        self._undated += int(missing.sum())
        self._late += int(late.sum())
        dropped = missing | late
        return rows.filter(pa.array(~dropped)) if dropped.any() else rows

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"late": self._late, "undated": self._undated}
