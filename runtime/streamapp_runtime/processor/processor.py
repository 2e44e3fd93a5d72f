"""The loop of a processor: poll, operators, state, commit (design 9)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.channel import Command, DriverChannel, DriverLost
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.inputs import Inputs
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.processor.progress import Progress
from streamapp_runtime.processor.reports import ProcessorReport
from streamapp_runtime.tables.table import Table
from streamapp_runtime.tasks.task import Task

_POLL_ROWS = 100_000
_COMMIT_ROWS = 2_000_000
"""Rows after which a commit does not wait for its interval: what they led to is held in memory until then."""
_WAIT_SECONDS = 0.02
_REPORT_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a processor reads, in the order of reading: side inputs first, then intermediate streams, then inputs.

    Tasks by the partitions they own (several for a broadcast stream), tables by the side inputs that fill them.
    """

    tables: Mapping[Ssp, Sequence[Table]]
    intermediate: Mapping[Ssp, Sequence[Task]]
    inputs: Mapping[Ssp, Sequence[Task]]


class Processor:
    """Runs its tasks until their inputs have ended or the driver says to stop. Used by one thread."""

    def __init__(
        self,
        *,
        tasks: Sequence[Task],
        reading: Reading,
        inputs: Inputs,
        markers: MarkerRounds,
        committer: Committer,
        progress: Progress,
        channel: DriverChannel,
        commit_seconds: float,
        clock: Callable[[], float],
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the parts; `clock` tells monotonic seconds, `time_of_day` milliseconds since 1970."""
        self._tasks = tasks
        self._reading = reading
        self._inputs = inputs
        self._markers = markers
        self._committer = committer
        self._progress = progress
        self._channel = channel
        self._commit_seconds = commit_seconds
        self._clock = clock
        self._time_of_day = time_of_day
        self._command = Command.RUN
        self._committed = self._reported = clock()
        self._dirty = False
        self._uncommitted = 0

    def run(self) -> ProcessorReport:
        """Run to the end and give the last report.

        Raises:
            DriverLost: the driver said stop, or is gone; what was not committed is dropped.
        """
        self._bootstrap()
        for task in self._tasks:
            task.advance(self._time_of_day())
        while self._command is Command.RUN and not all(task.ended for task in self._tasks):
            self._step()
            self._commit_if_due()
            self._report_if_due()
        self._commit()
        return self._report(done=self._command is Command.RUN)

    def _bootstrap(self) -> None:
        """Read the side inputs to their ends before anything else, so that every row finds the whole table."""
        reading = set(self._reading.tables)
        while reading:
            for decoded in self._inputs.poll(reading, _POLL_ROWS, _WAIT_SECONDS):
                self._progress.read_side_input(decoded)
                if decoded.rows is not None:
                    for table in self._reading.tables[decoded.ssp]:
                        table.fill(decoded.rows)
                if decoded.ended:
                    reading.discard(decoded.ssp)
            self._report_if_due()
        self._dirty = True

    def _step(self) -> None:
        """Read a little of everything: what other tasks sent before new rows from outside, which make more of it."""
        read = self._take(self._reading.intermediate, 0.0)
        read |= self._take(self._reading.inputs, 0.0)
        if not read:
            read = self._take({**self._reading.intermediate, **self._reading.inputs}, _WAIT_SECONDS)
        now = self._time_of_day()
        risen = [task.advance(now) for task in self._tasks]
        self._dirty |= read or any(risen)

    def _take(self, owners: Mapping[Ssp, Sequence[Task]], timeout: float) -> bool:
        read = False
        for decoded in self._inputs.poll(owners, _POLL_ROWS, timeout):
            read = True
            self._uncommitted += 0 if decoded.rows is None else len(decoded.rows)
            for task in owners[decoded.ssp]:
                task.take(decoded)
        return read

    def _commit_if_due(self) -> None:
        """Commit at the interval, and earlier when others wait for the end of a stream or much is held in memory."""
        due = self._clock() - self._committed >= self._commit_seconds or self._uncommitted >= _COMMIT_ROWS
        if (due and (self._dirty or self._markers.news_waits())) or (self._dirty and self._markers.ends_wait()):
            self._commit()

    def _commit(self) -> None:
        self._committer.commit(self._time_of_day())
        self._committed = self._clock()
        self._dirty = False
        self._uncommitted = 0

    def _report_if_due(self) -> None:
        if self._clock() - self._reported < _REPORT_SECONDS:
            return
        self._reported = self._clock()
        self._command = self._channel.report(self._report(done=False))
        if self._command is Command.STOP:
            raise DriverLost("the driver said stop")

    def _report(self, *, done: bool) -> ProcessorReport:
        return self._progress.report(commits=self._committer.commits, done=done)
