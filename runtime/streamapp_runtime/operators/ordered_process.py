"""The `process` operator with state in event-time order: rows wait for the watermark, timers fire between them."""

import struct
from collections.abc import Mapping, Sequence

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.functions.keyed_state import Timer
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.pending_rows import PendingRows
from streamapp_runtime.operators.timed_rows import Indices, TimedRows
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.state.store import Store

_PROGRESS = b"pw"
_TIMES = struct.Struct(">qq")
_ROWS_AT_ONCE = 20_000
_STEP = 200_000
_CALL_COST = 50
"""The rows that a call costs as much as, in the work of a step."""


class OrderedProcess(BaseOperator):
    """Calls a function with the rows and timers of each key in the order of their times.

    A row comes before a timer of its time. So a timer fires when the watermark has passed its time, and rows come when
    the watermark has reached theirs: no earlier row is expected then. Rows before the watermark, and those without
    event time, are given at once.

    Many rows are given in one call, those of a key up to its next timer. If the function sets a timer that lies between
    rows of its key in the call, what it did is dropped, and it is called again with the rows before the timer. How many
    rows are tried at once is adapted to that.
    """

    def __init__(
        self,
        name: str,
        function: StatefulFunction,
        store: Store,
        on_error: OnError,
        bad_rows: BadRows,
        *,
        rows_at_once: int = _ROWS_AT_ONCE,
        step: int = _STEP,
    ) -> None:
        """Take the operator's name for messages, and the function with the store that its state is in.

        At most `rows_at_once` rows are given in one call; `step` bounds the work until results are emitted.
        """
        self._function = function
        self._store = store
        self._rows_at_once, self._step = rows_at_once, step
        caller = f"operator `{name}`"
        self._process = GuardedCall(caller, function.process, on_error, bad_rows)
        self._fire = GuardedCall(f"{caller}, timers", self._call_timers, on_error, bad_rows)
        self._pending = PendingRows(store)
        self._progress = store.get(_PROGRESS) or _TIMES.pack(BEGINNING, BEGINNING)
        self._watermark: int
        self._reached: int
        self._watermark, self._reached = _TIMES.unpack(self._progress)
        self._timed = TimedRows(None, function.key, (), BEGINNING)
        self._at_once = rows_at_once
        self._work = 0
        self._last = self._unfinished = False

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Keep rows until the watermark is there; return what those yield that do not wait.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        times, missing = event_times(rows)
        waits = ~missing & (times >= self._watermark) & (self._watermark != END_OF_TIME)
        if waits.all():
            self._pending.add(rows)
            return None
        if waits.any():
            self._pending.add(rows.filter(pa.array(waits)))
        return self._process(rows.filter(pa.array(~waits)))

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Call the function with the rows up to the watermark and the timers before it, in the order of their times.

        At the end of all inputs the watermark first goes to the last row. Then every timer fires, and timers that are
        set then are dropped: one that sets itself again would fire forever.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        self._watermark = max(self._watermark, watermark)  # after a restart it may be lower at first
        if self._watermark != END_OF_TIME:
            self._reached = max(self._reached, self._watermark)
        self._work = 0
        self._unfinished = True
        results: list[pa.Table] = []
        while self._unfinished and self._work < self._step:
            self._unfinished = self._advance_some(results)
        return pa.concat_tables(results) if results else None

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._unfinished

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._pending.flush()
        progress = _TIMES.pack(self._watermark, self._reached)
        if progress != self._progress:
            self._store.put(_PROGRESS, progress)
            self._progress = progress

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"failed": self._process.failed + self._fire.failed}

    def _advance_some(self, results: list[pa.Table]) -> bool:
        """Call the function with some rows and timers; return whether there were any."""
        timers = self._function.first_timers(self._watermark, self._rows_at_once + 1)
        until = timers.pop().time if len(timers) > self._rows_at_once else END_OF_TIME
        taken = self._pending.take(min(self._watermark, until), self._rows_at_once)
        if taken is not None:
            self._reached = max(self._reached, int(taken.times[-1]))
        before = min(self._due_before(), until + 1)
        due = [timer for timer in timers if timer.time < before]
        if taken is None and not due:
            return self._watermark == END_OF_TIME and self._fire_last(timers, results)
        self._timed = TimedRows(taken, self._function.key, due, before)
        self._run(results)
        return True

    def _due_before(self) -> int:
        """Return the time before which timers are due: no row before it is still to come."""
        earliest = self._pending.earliest
        if earliest is not None:
            return min(earliest, self._watermark)
        return self._reached if self._watermark == END_OF_TIME else self._watermark

    def _run(self, results: list[pa.Table]) -> None:
        """Call the function with rows and with timers in turns, until nothing is left or the step is over."""
        while self._work < self._step:
            indices = self._timed.eligible(self._at_once)
            if len(indices):
                self._give(indices, results)
                continue
            due = self._timed.due_timers(self._rows_at_once)
            if not due:
                break
            for timer in due:
                self._timed.remove(timer.key, timer.time)
            self._fire_timers(due, results)
        remaining = self._timed.remaining()
        if remaining is not None:
            self._pending.put_back(remaining)

    def _give(self, indices: Indices, results: list[pa.Table]) -> None:
        """Call the function with rows, or as many of them as no timer comes between and no error."""
        while True:
            rows = self._timed.take(indices)
            self._work += len(rows) + _CALL_COST
            try:
                result = self._function.attempt(rows)
            except UserFunctionFailed as failure:
                if self._process.skip(rows, failure):
                    self._timed.mark_given(indices)
                    return
                fitting: Indices = indices[: len(indices) // 2]
            else:
                fitting = self._timed.before_timers(indices, self._function.timers_set)
            if len(fitting) == len(indices):
                break
            indices = fitting
            self._at_once = len(indices)
        self._timed.apply(self._function.keep())
        self._timed.mark_given(indices)
        self._at_once = min(2 * self._at_once, self._rows_at_once)
        results += [] if result is None else [result]

    def _fire_timers(self, timers: Sequence[Timer], results: list[pa.Table]) -> None:
        self._work += len(timers) + _CALL_COST
        result = self._fire(self._function.remove_timers(timers))
        results += [] if result is None else [result]

    def _fire_last(self, timers: Sequence[Timer], results: list[pa.Table]) -> bool:
        """Fire the timers that are left when all inputs have ended; return whether there were any."""
        first: dict[bytes, Timer] = {}
        for timer in timers:
            first.setdefault(timer.key, timer)
        if not first:
            return False
        self._last = True
        self._fire_timers(list(first.values()), results)
        return True

    def _call_timers(self, timers: pa.Table) -> pa.Table | None:
        result, writes = self._function.call_timers(timers, last=self._last)
        self._timed.apply(writes)
        return result
