"""The commit of a processor (`docs/protocols.md`, Commit): what becomes visible and lasting, and in which order."""

from collections.abc import Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, Part, ProcessorPart
from streamapp_runtime.state.protocol import Environment
from streamapp_runtime.tasks.task import Task
from streamapp_systems.protocols import FileOutput, Producer, StagedPart


class Committer:
    """Commits all tasks of a processor at once."""

    def __init__(
        self,
        processor: str,
        *,
        tasks: Sequence[Task],
        changelogs: Mapping[str, Ssp],
        shared: Environment,
        writer: IntermediateWriter,
        markers: MarkerRounds,
        producer: Producer,
        outputs: Mapping[str, FileOutput],
        written: Mapping[str, int],
    ) -> None:
        """Take what takes part: the changelog partition of each task, the file outputs by system.

        `shared` is the state that all tasks of the processor use (broadcast tables), `written` counts the rows of
        outputs.
        """
        self._processor = processor
        self._tasks = tasks
        self._changelogs = changelogs
        self._shared = shared
        self._writer = writer
        self._markers = markers
        self._producer = producer
        self._outputs = outputs
        self._written = written
        self.commits = 0

    def commit(self, now: int) -> None:
        """Commit everything done so far; `now` is the time of day in milliseconds."""
        with Taking(Step.COMMIT_FLUSH):
            for task in self._tasks:
                task.flush()
            self._writer.flush()
            self._markers.send(now)
        with Taking(Step.COMMIT_STAGE):
            staged = {system: output.stage() for system, output in self._outputs.items()}
        with Taking(Step.COMMIT_LOG):
            checkpoints = self._send_changes(staged, now)
            positions = self._producer.commit()
        with Taking(Step.COMMIT_PUBLISH):
            for system, parts in staged.items():
                self._outputs[system].publish(parts)
        with Taking(Step.COMMIT_STATE):
            for task, checkpoint in checkpoints.items():
                task.commit(positions[self._changelogs[task.name]], checkpoint)
            self._shared.commit()
        self.commits += 1

    def _send_changes(self, staged: Mapping[str, Sequence[StagedPart]], now: int) -> dict[Task, bytes]:
        """Send the changelog entries and checkpoints of the tasks that did something, and of the first one always."""
        checkpoints = {}
        for number, task in enumerate(self._tasks):
            if not task.touched and number > 0:
                continue
            changelog = self._changelogs[task.name]
            for key, value in task.changes():
                self._producer.send(changelog, value, key=key, timestamp=now)
            checkpoint = task.checkpoint(self._processor_part(staged) if number == 0 else None)
            self._producer.send(changelog, checkpoint, key=CHECKPOINT_KEY, timestamp=now)
            checkpoints[task] = checkpoint
        return checkpoints

    def _processor_part(self, staged: Mapping[str, Sequence[StagedPart]]) -> ProcessorPart:
        parts = [
            Part(system=system, stream=part.stream, staged=part.staged, final=part.final)
            for system, of_system in staged.items()
            for part in of_system
        ]
        return ProcessorPart(processor=self._processor, parts=tuple(parts), written=dict(self._written))
