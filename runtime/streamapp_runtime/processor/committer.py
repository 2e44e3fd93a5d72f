"""The commit of a processor (docs/protocols.md, Commit): its steps and their order."""

import logging
from collections.abc import Callable, Mapping, Sequence

from streamapp_core.spec.systems import SystemKind
from streamapp_core.ssp import Ssp
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.task_assembly import AssembledTasks
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, StagedFile
from streamapp_runtime.tasks.task import Task
from streamapp_runtime.tasks.task_context import Writers
from streamapp_systems.protocols import CommitUnknown, Producer, SentRecords, StagedPart

_LOGGER = logging.getLogger("streamapp.processor")
_TRIES = 5
"""How often a commit is asked for its outcome; brokers may be silent for 30 s each time."""
_AWAY_SECONDS = 5.0
"""Seconds between two questions whether brokers were away: while one of several is, commits are not made for that."""


class Committer:
    """The committer of a processor: all its tasks commit at once."""

    def __init__(
        self,
        assembled: AssembledTasks,
        changelogs: Mapping[str, Ssp],
        writers: Writers,
        control_messages: ControlMessageSender,
        *,
        clock: Callable[[], float],
        raise_if_stopped: Callable[[], object],
    ) -> None:
        """Take all that is committed.

        `changelogs` are the partitions of the tasks, `clock` counts seconds, and `raise_if_stopped` raises where the
        driver has stopped this processor.
        """
        self._tasks = assembled.tasks
        self._shared = assembled.shared
        self._changelogs = changelogs
        self._intermediate = writers.intermediate
        self._outputs = writers.outputs
        self._producer = writers.producer
        self._files = writers.files
        self._places = writers.places
        self._unpublished: dict[str, tuple[StagedPart, ...]] = dict.fromkeys(writers.files, ())
        self._published = dict.fromkeys(writers.files, clock())
        self.lists_published = False
        """Whether the last checkpoint lists parts that were joined since.

        Until the next one, who starts again looks for their files, which others may have taken away."""
        self._control_messages = control_messages
        self._clock = clock
        self._raise_if_stopped = raise_if_stopped
        self._was_away = False
        self._asked_at = clock() - _AWAY_SECONDS
        self.commits = 0
        self.transaction_seconds = 0.0
        """The seconds that the last commit took up to the end of commit-3, which decides it.

        What the producer needs before it, such as taking over its id again, says nothing about the number of rows."""
        self.answer_seconds = 0.0
        """The seconds of these that the system took to commit."""
        self.committed = _lowest_positions(self._tasks)
        """The offset from which each partition would be read after a crash: the lowest of its tasks."""

    @property
    def publication_due(self) -> bool:
        """Whether committed parts have waited for others as long as their output wants: the next commit publishes."""
        return any(parts and self._is_due(system) for system, parts in self._unpublished.items())

    def may_hang(self, *, last: bool = False) -> bool:
        """Return whether brokers may have forgotten to end the last transaction: the next commit ends it likewise.

        What it wrote to intermediate streams can't be read before. If the next commit is the `last` one, this is asked
        in any case.
        """
        if not self._was_away and (last or self._clock() - self._asked_at >= _AWAY_SECONDS):
            self._asked_at = self._clock()
            self._was_away = self._producer.was_away()
        return self._was_away

    def commit(self, now: int, *, last: bool = False) -> None:
        """Commit everything done so far; `now` is the time of day in milliseconds.

        Parts that wait for others to be published with them are published now if this is the `last` commit.
        """
        self._producer.prepare()
        begun = self._clock()
        with fail_point(FailPoint.COMMIT_FLUSH):
            for task in self._tasks:
                task.flush()
            self._intermediate.flush()
            self._outputs.flush()
            self._control_messages.send(now)
            if self.may_hang(last=last):
                self._intermediate.send_empty(now)
                for task in self._tasks:
                    task.touched = True  # its checkpoint has the number of its message
                self._was_away = False
        with fail_point(FailPoint.COMMIT_STAGE):
            staged = {system: (*self._unpublished[system], *output.stage()) for system, output in self._files.items()}
        with fail_point(FailPoint.COMMIT_TRANSACTION):
            checkpoints = self._send_changes(staged, now)
            asked = self._clock()
            positions = commit_transaction(self._producer, self._raise_if_stopped)
        answered = self._clock()
        self.transaction_seconds, self.answer_seconds = answered - begun, answered - asked
        with fail_point(FailPoint.COMMIT_PUBLISH):
            joined = [self._publish(system, parts, last=last) for system, parts in staged.items()]
            self.lists_published = any(joined)
        with fail_point(FailPoint.COMMIT_STATE):
            for task in self._tasks:
                if task in checkpoints:
                    task.commit(positions[self._changelogs[task.name]], checkpoints[task])
                else:
                    task.commit_unchanged()
            self._shared.commit()
        self.commits += 1
        self.committed = _lowest_positions(self._tasks)

    def _publish(self, system: str, parts: tuple[StagedPart, ...], *, last: bool) -> bool:
        """Publish parts, or keep them until that is due: the next checkpoints list them, too.

        Return whether some were joined into files. A table says itself what it has got, whoever looks later.
        """
        all_due = last or self._is_due(system)
        due = parts if all_due else self._files[system].full(parts)
        if due:
            self._files[system].publish(due)
        published = frozenset(due)
        self._unpublished[system] = tuple(part for part in parts if part not in published)
        if all_due:
            self._published[system] = self._clock()
        waited = self._files[system].publish_seconds > 0
        return bool(due) and waited and self._places[system].kind is SystemKind.FILE

    def _is_due(self, system: str) -> bool:
        seconds = self._files[system].publish_seconds
        return not seconds or self._clock() - self._published[system] >= seconds

    def _send_changes(self, staged: Mapping[str, Sequence[StagedPart]], now: int) -> dict[Task, bytes]:
        """Send the changelog entries and checkpoints of the tasks that did something, and of the first one always."""
        checkpoints = {}
        for number, task in enumerate(self._tasks):
            if not task.touched and number > 0:
                continue
            changelog = self._changelogs[task.name]
            for keys, values in task.changes():
                self._producer.send_all(changelog, SentRecords(timestamps=None, keys=keys, values=values))
            checkpoint = task.checkpoint(self._staged_files(staged, first=number == 0))
            self._producer.send(changelog, checkpoint, key=CHECKPOINT_KEY, timestamp=now)
            checkpoints[task] = checkpoint
        return checkpoints

    def _staged_files(self, staged: Mapping[str, Sequence[StagedPart]], *, first: bool) -> list[StagedFile]:
        """Return the parts that a task's checkpoint lists: the `first` one all, the others those with rows to replace.

        After a death the tasks may go to several processors: none goes on before such rows of its own are published.
        """
        return [
            StagedFile(kind=place.kind, folder=place.folder, stream=part.stream, staged=part.staged, final=part.final)
            for system, place in self._places.items()
            if first or place.kind.replaces_rows
            for part in staged[system]
        ]


def commit_transaction(producer: Producer, raise_if_stopped: Callable[[], object]) -> Mapping[Ssp, int]:
    """Commit, and ask for the outcome again while the system does not answer, as long as this processor may.

    Nobody else can learn the outcome so surely: after a death, the next owner finds it in the changelog, where brokers
    may have forgotten it (`hanging_transactions`).

    Raises:
        CommitUnknown: no answer came, again and again.
        StreamSystemError: nothing was committed.
    """
    for _ in range(_TRIES - 1):
        try:
            return producer.commit()
        except CommitUnknown as unknown:
            raise_if_stopped()
            _LOGGER.warning("%s; asking again", unknown)
    return producer.commit()


def _lowest_positions(tasks: Sequence[Task]) -> Mapping[Ssp, int]:
    """Return the lowest offset of each partition among the tasks that read it."""
    lowest: dict[Ssp, int] = {}
    for task in tasks:
        for ssp, position in task.positions.items():
            lowest[ssp] = min(position.offset, lowest.get(ssp, position.offset))
    return lowest
