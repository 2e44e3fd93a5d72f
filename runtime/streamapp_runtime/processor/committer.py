"""The commit of a processor (`docs/protocols.md`, Commit): what becomes visible and lasting, and in which order."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, Part
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tasks.task import Task
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.protocols import FileOutput, Producer, SentRecords, StagedPart


class Committer:
    """Commits all tasks of a processor at once."""

    def __init__(
        self,
        *,
        tasks: Sequence[Task],
        changelogs: Mapping[str, Ssp],
        shared: SideInputs,
        writer: IntermediateWriter,
        output_writer: OutputWriter,
        control_messages: ControlMessageSender,
        producer: Producer,
        outputs: Mapping[str, FileOutput],
        clock: Callable[[], float],
    ) -> None:
        """Take what takes part: the changelog partition of each task, the file outputs by system.

        `shared` fill the tables that all tasks of the processor use; `clock` tells seconds.
        """
        self._tasks = tasks
        self._changelogs = changelogs
        self._shared = shared
        self._writer = writer
        self._output_writer = output_writer
        self._control_messages = control_messages
        self._producer = producer
        self._outputs = outputs
        self._clock = clock
        self.commits = 0
        self.log_seconds = 0.0
        """How long the last commit took up to the moment that counts (commit-3)."""
        self.committed = _lowest_positions(tasks)
        """The lowest offset at which a task would go on after a death, by partition."""

    def commit(self, now: int) -> None:
        """Commit everything done so far; `now` is the time of day in milliseconds."""
        begun = self._clock()
        with fail_point(FailPoint.COMMIT_FLUSH):
            for task in self._tasks:
                task.flush()
            self._writer.flush()
            self._output_writer.flush()
            self._control_messages.send(now)
        with fail_point(FailPoint.COMMIT_STAGE):
            staged = {system: output.stage() for system, output in self._outputs.items()}
        with fail_point(FailPoint.COMMIT_LOG):
            checkpoints = self._send_changes(staged, now)
            positions = self._producer.commit()
        self.log_seconds = self._clock() - begun
        with fail_point(FailPoint.COMMIT_PUBLISH):
            for system, parts in staged.items():
                self._outputs[system].publish(parts)
        with fail_point(FailPoint.COMMIT_STATE):
            for task in self._tasks:
                if task in checkpoints:
                    task.commit(positions[self._changelogs[task.name]], checkpoints[task])
                else:
                    task.confirm()
            self._shared.commit()
        self.commits += 1
        self.committed = _lowest_positions(self._tasks)

    def _send_changes(self, staged: Mapping[str, Sequence[StagedPart]], now: int) -> dict[Task, bytes]:
        """Send the changelog entries and checkpoints of the tasks that did something, and of the first one always."""
        checkpoints = {}
        for number, task in enumerate(self._tasks):
            if not task.touched and number > 0:
                continue
            changelog = self._changelogs[task.name]
            changes = list(task.changes())
            keys, values = [key for key, _ in changes], [value for _, value in changes]
            self._producer.send_all(changelog, SentRecords(timestamps=None, keys=keys, values=values))
            checkpoint = task.checkpoint(_parts(staged) if number == 0 else ())
            self._producer.send(changelog, checkpoint, key=CHECKPOINT_KEY, timestamp=now)
            checkpoints[task] = checkpoint
        return checkpoints


def _parts(staged: Mapping[str, Sequence[StagedPart]]) -> list[Part]:
    return [
        Part(system=system, stream=part.stream, staged=part.staged, final=part.final)
        for system, of_system in staged.items()
        for part in of_system
    ]


def _lowest_positions(tasks: Sequence[Task]) -> Mapping[Ssp, int]:
    """Tell how far each partition has been read by all tasks here that read it."""
    lowest: dict[Ssp, int] = {}
    for task in tasks:
        for ssp, position in task.positions.items():
            lowest[ssp] = min(position.offset, lowest.get(ssp, position.offset))
    return lowest
