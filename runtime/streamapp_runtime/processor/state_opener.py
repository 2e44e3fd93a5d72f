"""The opening of the tasks' states (docs/protocols.md, Start of a processor): locks, restores, parts to publish."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from streamapp_core.job_model.job_model import TaskModel
from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.restore_reporter import RestoreReporter
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.state.checkpoint import Checkpoint
from streamapp_runtime.state.folder_lock import FolderInUse, FolderLock
from streamapp_runtime.state.hanging_transactions import resolve_hanging_transaction
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.state.unlogged_state import UnloggedState
from streamapp_systems.protocols import OutputPlace, Producer, StagedOutput, StagedPart

_LOCK_SECONDS = 20.0


def task_folder(state: Path, task: str) -> Path:
    """Return the folder of a task's state, below that of its run."""
    return state / task.replace(" ", "-")


def side_input_folder(folder: Path) -> Path:
    """Return the folder of the stores without a changelog, below that of a task, or of a processor's tasks."""
    return folder / "side-inputs"


def shared_owner(processor: str) -> str:
    """Return the name that the owner of the stores has which all tasks of a processor share."""
    return f"processor {processor}"


class StateOpener:
    """The opener of the states of tasks below one folder; `handles` closes them."""

    def __init__(
        self,
        folder: Path,
        run_id: str,
        handles: ExitStack,
        context: ExecutionContext,
        restoring: RestoreReporter,
    ) -> None:
        """Open states below the folder of a run; `restoring` reports how far they are."""
        self._folder = folder
        self._run_id = run_id
        self._boot_id = context.boot_id
        self._handles = handles
        self._clock = context.clock
        self._restoring = restoring

    def open(
        self, tasks: Mapping[str, TaskModel], connections: Connections, producer: Producer
    ) -> dict[str, TaskState]:
        """Lock the states of all tasks, then restore each from its changelog; `producer` is that of the processor.

        The changelogs do not grow meanwhile: their former owners are fenced. While all locks are held, nobody else has
        the stores open.

        Raises:
            ProcessorLost: a previous worker on this machine still holds a lock; it may have ended at the next start.
        """
        with fail_point(FailPoint.TASK_LOCK):
            folders = {name: self._locked(name) for name in sorted(tasks)}
        states = {}
        with fail_point(FailPoint.TASK_RESTORE):
            for name, folder in folders.items():
                with connections.changelog(tasks[name].changelog_partition) as changelog:
                    states[name] = self._restored(name, folder, changelog, producer)
                self._handles.callback(states[name].close)
        return states

    def open_unlogged(self, task: str) -> UnloggedState:
        """Open the stores of a task that have no changelog; the task's own state is open."""
        return self._unlogged(task, side_input_folder(task_folder(self._folder, task)))

    def open_shared(self, processor: str) -> UnloggedState:
        """Open the stores that all tasks of a processor share."""
        name = shared_owner(processor)
        return self._unlogged(name, side_input_folder(self._locked(name)))

    def _restored(self, name: str, folder: Path, changelog: ChangelogPartitionReader, producer: Producer) -> TaskState:
        owner, clock = self._owner(name), self._clock
        resolve_hanging_transaction(
            changelog,
            folder,
            owner,
            producer,
            clock=clock.monotonic,
            sleep=clock.sleep,
            now=clock.time_of_day(),
        )
        return TaskState(folder, owner, changelog, clock.time_of_day, partial(self._restoring.report, name))

    def _unlogged(self, name: str, folder: Path) -> UnloggedState:
        state = UnloggedState(folder, self._owner(name))
        self._handles.callback(state.close)
        return state

    def _owner(self, name: str) -> StateOwner:
        return StateOwner(run_id=self._run_id, task=name, boot_id=self._boot_id)

    def _locked(self, name: str) -> Path:
        folder = task_folder(self._folder, name)
        try:
            lock = FolderLock(folder, wait_seconds=_LOCK_SECONDS, clock=self._clock.monotonic, sleep=self._clock.sleep)
        except FolderInUse as used:
            raise ProcessorLost(f"a previous worker of task {name} has not ended: {used}") from None
        self._handles.callback(lock.close)
        return folder


def publish_staged_parts(
    states: Mapping[str, TaskState], open_output: Callable[[OutputPlace, int], StagedOutput]
) -> None:
    """Publish the parts that the last commits staged, in case those did not reach it.

    `open_output` opens the output of a place; the places are numbered. They are those where the parts are, and not
    those of the outputs: an edit may have moved these since.
    """
    with fail_point(FailPoint.TASK_PUBLISH):
        checkpoints = filter(None, (state.checkpoint for state in states.values()))
        for number, (place, parts) in enumerate(_parts(checkpoints).items()):
            open_output(place, number).publish(parts)


def _parts(checkpoints: Iterable[Checkpoint]) -> dict[OutputPlace, list[StagedPart]]:
    parts: dict[OutputPlace, dict[StagedPart, None]] = defaultdict(dict)
    for checkpoint in checkpoints:
        for part in checkpoint.parts:
            staged = StagedPart(stream=part.stream, staged=part.staged, final=part.final)
            parts[OutputPlace(part.kind, part.folder)][staged] = None
    return {place: list(some) for place, some in parts.items()}
