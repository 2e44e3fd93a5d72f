"""The loop of a processor: poll, operators, state, commit (docs/architecture.md)."""

from collections.abc import Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.execution_context import EndTurn
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.driver_link import REPORT_SECONDS, DriverLink
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_runtime.processor.processor_report_builder import ProcessorReportBuilder
from streamapp_runtime.processor.side_input_bootstrap import BatchReceiver, SideInputBootstrap
from streamapp_runtime.processor.silence_monitor import SilenceMonitor
from streamapp_runtime.processor.task_assembly import AssembledTasks
from streamapp_systems.clock import Clock

_POLL_ROWS = 1_000_000
_COMMIT_ROWS = 2_000_000
"""The most rows that are processed before a commit, whatever its interval: their results are held in memory."""
_FIRST_ROWS, _LEAST_ROWS = 10_000, 1_000
_TRANSACTION_SECONDS, _CHANGE = 3.0, 8.0
"""The longest time that a commit should take in the log, and the factor by which its rows may change from one to the
next: transactions in Kafka must be short, and how fast the brokers are is not known before the first ones."""
_WAIT_SECONDS = 0.02
_FEW_ROWS = 10_000
_LONGEST_PAUSE = 0.05
"""After a step with few rows, the next one waits for the commit, and so long at most (seconds): what a step costs
whatever its rows is then paid less often, and results are not seen before the commit anyway."""


class Processor:
    """The loop that runs tasks until their inputs have ended or the driver stops it. Used by one thread."""

    def __init__(
        self,
        assembled: AssembledTasks,
        *,
        inputs: InputSource,
        silence: SilenceMonitor,
        control_messages: ControlMessageSender,
        committer: Committer,
        progress: ProcessorReportBuilder,
        link: DriverLink,
        commit_seconds: float,
        clock: Clock,
        end_turn: EndTurn | None = None,
    ) -> None:
        """Take the parts, which are open and restored, and what is to be told of the end of each turn."""
        self._tasks = assembled.tasks
        self._bootstrap = SideInputBootstrap(inputs, assembled.routing.side_inputs, assembled.side_inputs)
        self._early = {**assembled.routing.side_inputs, **assembled.routing.intermediate}
        self._late = assembled.routing.inputs
        self._all = {**self._early, **self._late}
        self._inputs = inputs
        self._silence = silence
        self._control_messages = control_messages
        self._committer = committer
        self._progress = progress
        self._link = link
        self._commit_seconds = commit_seconds
        self._clock = clock.monotonic
        self._sleep = clock.sleep
        self._time_of_day = clock.time_of_day
        self._processing_time = clock.monotonic_milliseconds
        self._end_turn = end_turn
        self._committed = self._reported = clock.monotonic()
        self._dirty = self._few_rows = False
        self._uncommitted = 0
        self._most = _FIRST_ROWS
        """Rows after which a commit is due, adapted to how long commits take; `_COMMIT_ROWS` at the most."""

    def run(self) -> ProcessorReport:
        """Run to the end and return the last report.

        Raises:
            DriverLost: the driver stopped this processor, or is gone; what was not committed is dropped.
        """
        while not self._bootstrap.done:
            if not self._is_to_run():
                return self._report(done=False)
            self._bootstrap.step()
            self._report_if_due()
        self._dirty = True
        for task in self._tasks:
            task.advance(self._processing_time())
        while self._is_to_run() and not self._ended():
            commits = self._committer.commits
            self._step()
            self._commit_if_due()
            self._report_if_due()
            if self._end_turn is not None:
                idle = not self._waits_for_commit() and not self._silence.asks
                self._end_turn(quiet=idle and self._committer.commits == commits)
        self._commit(last=True)
        if self._committer.lists_published:
            self._commit(last=True)
        return self._report(done=self._ended())

    def _is_to_run(self) -> bool:
        return self._link.command() is Command.RUN

    def _ended(self) -> bool:
        return all(task.ended for task in self._tasks)

    def _step(self) -> None:
        """Poll everything once: tables and intermediate streams before new rows, which lead to more of them."""
        self._pause()
        uncommitted = self._uncommitted
        read = self._take(self._early, 0.0)
        read |= self._take(self._late, 0.0)
        if not read:
            read = self._take(self._all, _WAIT_SECONDS)
        now = self._processing_time()
        self._silence.step(now)
        risen = [task.advance(now) for task in self._tasks]
        self._dirty |= read or any(risen)
        self._few_rows = 0 < self._uncommitted - uncommitted < _FEW_ROWS

    def _pause(self) -> None:
        left = self._committed + self._commit_seconds - self._clock()
        if self._few_rows and left > 0:
            self._sleep(min(left, _LONGEST_PAUSE))

    def _take(self, receivers: Mapping[Ssp, Sequence[BatchReceiver]], timeout: float) -> bool:
        read = False
        for decoded in self._inputs.poll(receivers, min(_POLL_ROWS, self._most), timeout):
            read = True
            self._uncommitted += 0 if decoded.rows is None else len(decoded.rows)
            for receiver in receivers[decoded.ssp]:
                receiver.take(decoded)
        return read

    def _commit_if_due(self) -> None:
        """Commit at the interval, and earlier when consumers wait for the end of a stream or much is held in memory."""
        due = self._clock() - self._committed >= self._commit_seconds or self._uncommitted >= self._most
        if (self._waits_for_commit() and due) or (self._dirty and self._control_messages.has_unsent_ends()):
            self._commit()

    def _waits_for_commit(self) -> bool:
        unsent, committer = self._control_messages.has_unsent(), self._committer
        to_publish = committer.publication_due or committer.lists_published
        return self._dirty or unsent or to_publish or committer.may_hang()

    def _commit(self, *, last: bool = False) -> None:
        self._committer.commit(self._time_of_day(), last=last)
        self._silence.note_commit(self._committer.answer_seconds)
        self._committed = self._clock()
        self._most = rows_of_next_commit(self._most, self._uncommitted, self._committer.transaction_seconds)
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
    """Return after how many rows the next commit is due: it was `most`, and the log took `seconds` for `rows`."""
    if rows < most and seconds <= _TRANSACTION_SECONDS:
        return most
    change = min(max(_TRANSACTION_SECONDS / max(seconds, 1e-3), 1 / _CHANGE), _CHANGE)
    return min(max(int(min(most, max(rows, _LEAST_ROWS)) * change), _LEAST_ROWS), _COMMIT_ROWS)
