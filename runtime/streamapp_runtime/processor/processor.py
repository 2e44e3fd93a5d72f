"""The loop of a processor: poll, operators, state, commit (design 9)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.driver_link import REPORT_SECONDS, DriverLink
from streamapp_runtime.processor.processor_progress import ProcessorProgress
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_runtime.processor.side_input_bootstrap import BatchReceiver, SideInputBootstrap
from streamapp_runtime.tasks.task import Task

_POLL_ROWS = 1_000_000
_COMMIT_ROWS = 2_000_000
"""Rows after which a commit does not wait for its interval: what they led to is held in memory until then."""
_FIRST_ROWS, _LEAST_ROWS = 10_000, 1_000
_LOG_SECONDS, _CHANGE = 3.0, 8.0
"""How long a commit should take in the log at the most, and how many times as many rows as before it may have: Kafka's
transactions must be short, and nobody knows how fast the brokers are before the first ones."""
_WAIT_SECONDS = 0.02
_FEW_ROWS = 10_000
_LONGEST_REST = 0.05
"""After a step with few rows, the next one waits for the commit, and so long at most (seconds): what a step costs
whatever its rows is then paid less often, and results are not seen before the commit anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRouting:
    """What a processor reads, and who takes what is read of each partition: several take a broadcast stream."""

    side_inputs: Mapping[Ssp, Sequence[BatchReceiver]]
    intermediate: Mapping[Ssp, Sequence[Task]]
    inputs: Mapping[Ssp, Sequence[Task]]


class Processor:
    """Runs its tasks until their inputs have ended or the driver says to stop. Used by one thread."""

    def __init__(
        self,
        *,
        tasks: Sequence[Task],
        bootstrap: SideInputBootstrap,
        reading: InputRouting,
        inputs: InputSource,
        control_messages: ControlMessageSender,
        committer: Committer,
        progress: ProcessorProgress,
        link: DriverLink,
        commit_seconds: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the parts; `clock` tells monotonic seconds, `time_of_day` milliseconds since 1970."""
        self._tasks = tasks
        self._bootstrap = bootstrap
        self._early = {**reading.side_inputs, **reading.intermediate}
        self._late = reading.inputs
        self._all = {**self._early, **self._late}
        self._inputs = inputs
        self._control_messages = control_messages
        self._committer = committer
        self._progress = progress
        self._link = link
        self._commit_seconds = commit_seconds
        self._clock = clock
        self._sleep = sleep
        self._time_of_day = time_of_day
        self._committed = self._reported = clock()
        self._dirty = self._few = False
        self._uncommitted = 0
        self._most = _FIRST_ROWS
        """Rows after which a commit is due, as far as is known of those before: `_COMMIT_ROWS` soon, if all is well."""

    def run(self) -> ProcessorReport:
        """Run to the end and give the last report.

        Raises:
            DriverLost: the driver said stop, or is gone; what was not committed is dropped.
        """
        while not self._bootstrap.done:
            if not self._goes_on():
                return self._report(done=False)
            self._bootstrap.step()
            self._report_if_due()
        self._dirty = True
        for task in self._tasks:
            task.advance(self._time_of_day())
        while self._goes_on() and not self._ended():
            self._step()
            self._commit_if_due()
            self._report_if_due()
        self._commit()
        return self._report(done=self._ended())

    def _goes_on(self) -> bool:
        return self._link.command() is Command.RUN

    def _ended(self) -> bool:
        return all(task.ended for task in self._tasks)

    def _step(self) -> None:
        """Read a little of everything: tables and what other tasks sent before new rows, which make more of it."""
        self._rest()
        before = self._uncommitted
        read = self._take(self._early, 0.0)
        read |= self._take(self._late, 0.0)
        if not read:
            read = self._take(self._all, _WAIT_SECONDS)
        now = self._time_of_day()
        risen = [task.advance(now) for task in self._tasks]
        self._dirty |= read or any(risen)
        self._few = 0 < self._uncommitted - before < _FEW_ROWS

    def _rest(self) -> None:
        left = self._committed + self._commit_seconds - self._clock()
        if self._few and left > 0:
            self._sleep(min(left, _LONGEST_REST))

    def _take(self, receivers: Mapping[Ssp, Sequence[BatchReceiver]], timeout: float) -> bool:
        read = False
        for decoded in self._inputs.poll(receivers, min(_POLL_ROWS, self._most), timeout):
            read = True
            self._uncommitted += 0 if decoded.rows is None else len(decoded.rows)
            for receiver in receivers[decoded.ssp]:
                receiver.take(decoded)
        return read

    def _commit_if_due(self) -> None:
        """Commit at the interval, and earlier when others wait for the end of a stream or much is held in memory."""
        due = self._clock() - self._committed >= self._commit_seconds or self._uncommitted >= self._most
        if (due and (self._dirty or self._control_messages.has_unsent())) or (
            self._dirty and self._control_messages.has_unsent_ends()
        ):
            self._commit()

    def _commit(self) -> None:
        self._committer.commit(self._time_of_day())
        self._committed = self._clock()
        self._most = rows_of_next_commit(self._most, self._uncommitted, self._committer.log_seconds)
        self._dirty = False
        self._uncommitted = 0

    def _report_if_due(self) -> None:
        if self._clock() - self._reported >= REPORT_SECONDS:
            self._reported = self._clock()
            self._link.set_report(self._report(done=False))

    def _report(self, *, done: bool) -> ProcessorReport:
        committer, now = self._committer, self._time_of_day()
        return self._progress.report(commits=committer.commits, committed=committer.committed, done=done, now=now)


def rows_of_next_commit(most: int, rows: int, seconds: float) -> int:
    """Tell after how many rows a commit is due, if it was `most` and a commit of these rows took so long in the log."""
    if rows < most and seconds <= _LOG_SECONDS:
        return most
    change = min(max(_LOG_SECONDS / max(seconds, 1e-3), 1 / _CHANGE), _CHANGE)
    return min(max(int(min(most, max(rows, _LEAST_ROWS)) * change), _LEAST_ROWS), _COMMIT_ROWS)
