"""Time by the clock of the machine, in place of the event times of rows (docs/windows-and-joins.md)."""

from collections.abc import Callable

import pyarrow as pa

from streamapp_runtime.operators.operator import InputPort
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD


class ProcessingTime:
    """A time of day that never goes back: where the clock does, and after a restart elsewhere, it stands still.

    Its watermark moves in steps (milliseconds), so that a task without rows is not woken more often than its windows
    can end.
    """

    def __init__(self, time_of_day: Callable[[], int], step: int) -> None:
        """Take the clock, in milliseconds since 1970."""
        self._time_of_day = time_of_day
        self._step = step
        self._latest = BEGINNING

    def resume(self, watermark: int) -> None:
        """Continue at a watermark that was reached before a restart."""
        self._latest = max(self._latest, watermark)

    @property
    def now(self) -> int:
        """The time of a row that comes now: never before the watermark."""
        self._latest = max(self._latest, self._time_of_day())
        return self._latest

    @property
    def watermark(self) -> int:
        """The last step that has passed: no row comes before it any more."""
        now = self.now
        return now - now % self._step

    def stamp(self, port: InputPort) -> InputPort:
        """Return a port that takes rows with the present time as their event time."""

        def process(rows: pa.Table) -> pa.Table | None:
            times = pa.repeat(pa.scalar(self.now, EVENT_TIME_FIELD.type), len(rows))
            place = rows.schema.get_field_index(EVENT_TIME_FIELD.name)
            return port(rows.set_column(place, EVENT_TIME_FIELD, times))

        return process
