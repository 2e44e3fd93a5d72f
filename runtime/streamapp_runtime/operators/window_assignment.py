"""The windows of rows: each row comes once for every open window that holds its event time."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.event_time_column import event_times

WINDOW_END = pa.field("__window_end", pa.int64())
"""The hidden column of a window's end, in milliseconds."""


class WindowAssignment:
    """Windows of one length that start at the multiples of a step, counted from 1970 in UTC.

    Those that end at or before `watermark` are closed.
    """

    def __init__(self, length: int, step: int) -> None:
        """Take the windows' length and the step between two of them in milliseconds."""
        self.length = length
        self.watermark = BEGINNING
        self._step = step
        self._late = self._undated = 0

    def assign(self, rows: pa.Table) -> pa.Table | None:
        """Return the rows with the end of a window, once for each of their windows; None if none is left.

        A row whose windows have all been closed, or were never opened, is late; one without event time is in no
        window. Both are dropped and counted.
        """
        times, missing = event_times(rows)
        last = times - times % self._step + self.length
        used = np.zeros(len(rows), np.bool_)
        assigned = []
        for ends in (last - back for back in range(0, self.length, self._step)):
            counts = ~missing & (times < ends) & (ends > self.watermark)
            used |= counts
            if counts.any():
                assigned.append(rows.append_column(WINDOW_END, pa.array(ends)).filter(pa.array(counts)))
        self._undated += int(missing.sum())
        self._late += int((~missing & ~used).sum())
        return pa.concat_tables(assigned) if assigned else None

    def counters(self) -> Mapping[str, int]:
        """Return how many rows are in no window, by reason."""
        return {"late": self._late, "undated": self._undated}
