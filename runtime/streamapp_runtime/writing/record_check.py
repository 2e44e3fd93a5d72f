"""The check of rows before they are written: a system that refuses one record fails all of its transaction."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.plan.plan import PlannedStream
from streamapp_core.spec.base import format_duration
from streamapp_core.spec.job import OnError
from streamapp_core.spec.streams import RecordTime
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.rows.record_keys import record_key
from streamapp_systems.protocols import RecordLimits

TIME, KEY = "time refused", "without key"
"""Why rows were not written, in counts."""

_SKIP = "or set spec.job.onError to skip: such rows are then left out and counted"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK_MARGIN = 60_000
"""Milliseconds that the clocks of brokers may differ from this one: rows so near to a limit are refused, too."""
_LEAST_PART = 10
"""Limits that are short are kept but for this part of them."""
_FIRST_TIME = 1
"""Milliseconds since 1970 that earlier times are written as."""


class RecordCheck:
    """Checks the rows that a task writes to an output against the output's limits, with `job.onError` applied.

    Used by one thread.
    """

    def __init__(
        self,
        stream: PlannedStream,
        limits: RecordLimits,
        *,
        on_error: OnError,
        bad_rows: BadRows,
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the output; `bad_rows` has the place of a batch and records rows that are left out."""
        self._stream = stream
        self._limits = limits
        self._on_error = on_error
        self._bad_rows = bad_rows
        self._time_of_day = time_of_day
        self._timed = written_time(stream) is RecordTime.EVENT_TIME and not (limits.before is limits.after is None)
        self.refused: Counter[str] = Counter()
        """The rows that were left out, by reason."""

    def accept(self, rows: pa.Table) -> pa.Table:
        """Return the rows that the output takes.

        Raises:
            RuntimeFailure: it refuses one, and the app does not skip errors; or it takes none without a key, and the
                stream has none.
        """
        refused: npt.NDArray[np.bool_] | None = None
        if self._timed:
            refused = self._find_refused_times(rows)
        if self._limits.needs_key:
            without = self._find_missing_keys(rows)
            refused = without if refused is None else refused | without
        return rows if refused is None or not refused.any() else rows.filter(pa.array(~refused))

    def _find_refused_times(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        times, missing = event_times(rows)
        times, now = np.maximum(times, _FIRST_TIME), self._time_of_day()
        before, after = _safe(self._limits.before), _safe(self._limits.after)
        early = times < now - before if before is not None else np.zeros(len(rows), np.bool_)
        late = times > now + after if after is not None else np.zeros(len(rows), np.bool_)
        refused: npt.NDArray[np.bool_] = (early | late) & ~missing
        if refused.any():
            self._refuse(TIME, int(refused.sum()), self._describe_time(int(times[refused][0]), now))
        return refused

    def _find_missing_keys(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        name, key = self._stream.name, self._stream.key
        if not key:
            raise RuntimeFailure(
                f"{name}: topic {self._stream.address} is compacted and takes no record without a key: declare "
                f"spec.streams.{name}.key, or write to a topic that is not compacted"
            )
        missing: npt.NDArray[np.bool_] = record_key(self._stream).values(rows).is_null().to_numpy()
        if missing.any():
            what = (
                f"{name}: a row without `{key[0]}` has no key, and topic {self._stream.address} is compacted: it takes "
                f"none without. Filter such rows out, {_SKIP}"
            )
            self._refuse(KEY, int(missing.sum()), what)
        return missing

    def _describe_time(self, time: int, now: int) -> str:
        name, ahead = self._stream.name, time > now
        limit = self._limits.after if ahead else self._limits.before
        assert limit is not None
        return (
            f"{name}: a row with the event time {_text(time)} is {_distance(abs(time - now))} "
            f"{'ahead of' if ahead else 'behind'} the time of day; topic {self._stream.address} takes records up to "
            f"{format_duration(limit)} {'ahead' if ahead else 'behind'} "
            f"(message.timestamp.{'after' if ahead else 'before'}.max.ms). Correct the row, raise that setting of the "
            f"topic, write it with the time of writing (spec.streams.{name}.recordTime: processingTime), {_SKIP}"
        )

    def _refuse(self, reason: str, count: int, what: str) -> None:
        self._bad_rows.refuse(what, self._on_error)
        self.refused[reason] += count


def written_time(stream: PlannedStream) -> RecordTime:
    """Return what the records of an output have for their time."""
    return RecordTime.EVENT_TIME if stream.spec is None else stream.spec.record_time


def _safe(limit: int | None) -> int | None:
    """Return the limit that rows are held against, in ms, so that brokers whose clocks differ take them, too."""
    return None if limit is None else limit - min(_CLOCK_MARGIN, limit // _LEAST_PART)


def _distance(milliseconds: int) -> str:
    """Write a length of time as people read it, to the second."""
    try:
        return str(timedelta(seconds=milliseconds // 1_000))
    except OverflowError:
        return f"{milliseconds} ms"


def _text(milliseconds: int) -> str:
    """Write a time as people read it; one that no calendar has, as its number."""
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
    except OverflowError:
        return f"{milliseconds} ms"
