"""How a processor's tasks are opened (`docs/protocols.md`, Start of a processor): locks, states, parts to publish."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from streamapp_core.job_model.job_model import TaskModel
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.restore_progress import RestoreProgress
from streamapp_runtime.state.checkpoint import Checkpoint
from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_runtime.state.hanging_transactions import settle
from streamapp_runtime.state.state_identity import Identity
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.state.unlogged_state import UnloggedState
from streamapp_systems.protocols import FileOutput, Producer, StagedPart

_LOCK_SECONDS = 20.0
_SIDE_INPUTS = "side-inputs"


def task_folder(state: Path, task: str) -> Path:
    """Tell where below the state folder of a run a task keeps its own."""
    return state / task.replace(" ", "-")


class StateOpener:
    """Opens the state of tasks below one folder; `handles` closes it."""

    def __init__(
        self,
        folder: Path,
        run_id: str,
        boot_id: str,
        handles: ExitStack,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        time_of_day: Callable[[], int],
        restoring: RestoreProgress,
    ) -> None:
        """Take the folder of the run, what tells this start of the machine from others, and who hears of restores."""
        self._folder = folder
        self._run_id = run_id
        self._boot_id = boot_id
        self._handles = handles
        self._clock = clock
        self._sleep = sleep
        self._time_of_day = time_of_day
        self._restoring = restoring

    def open(
        self, tasks: Mapping[str, TaskModel], connections: Connections, producer: Producer
    ) -> dict[str, TaskState]:
        """Lock the state of all tasks, then bring each up to its changelog; `producer` is that of the processor.

        The changelogs stand still: their former owners are fenced. With all locks held, none of them has the stores.
        """
        with fail_point(FailPoint.TASK_LOCK):
            folders = {name: self._locked(name) for name in sorted(tasks)}
        states = {}
        with fail_point(FailPoint.TASK_RESTORE):
            for name, folder in folders.items():
                identity = Identity(run_id=self._run_id, task=name, boot_id=self._boot_id)
                with connections.changelog(tasks[name].changelog_partition) as changelog:
                    settle(
                        changelog,
                        folder,
                        identity,
                        producer,
                        clock=self._clock,
                        sleep=self._sleep,
                        now=self._time_of_day(),
                    )
                    report = partial(self._restoring.report, name)
                    states[name] = TaskState(folder, identity, changelog, self._time_of_day, report)
                self._handles.callback(states[name].close)
        return states

    def open_unlogged(self, task: str) -> UnloggedState:
        """Open the stores of a task that have no changelog; the task's own state is open."""
        return self._unlogged(task, task_folder(self._folder, task) / _SIDE_INPUTS)

    def open_shared(self, processor: str) -> UnloggedState:
        """Open the stores that all tasks of a processor share."""
        owner = f"processor {processor}"
        return self._unlogged(owner, self._locked(owner) / _SIDE_INPUTS)

    def _unlogged(self, owner: str, folder: Path) -> UnloggedState:
        state = UnloggedState(folder, Identity(run_id=self._run_id, task=owner, boot_id=self._boot_id))
        self._handles.callback(state.close)
        return state

    def _locked(self, name: str) -> Path:
        folder = task_folder(self._folder, name)
        lock = FolderLock(folder, wait_seconds=_LOCK_SECONDS, clock=self._clock, sleep=self._sleep)
        self._handles.callback(lock.close)
        return folder


def publish_staged_parts(states: Mapping[str, TaskState], outputs: Mapping[str, FileOutput]) -> None:
    """Publish the parts of commits that died before they could, whoever made them; `outputs` are by system."""
    with fail_point(FailPoint.TASK_PUBLISH):
        for checkpoint in filter(None, (state.checkpoint for state in states.values())):
            for system, part in _parts(checkpoint):
                outputs[system].publish([part])


def _parts(checkpoint: Checkpoint) -> list[tuple[str, StagedPart]]:
    return [
        (part.system, StagedPart(stream=part.stream, staged=part.staged, final=part.final)) for part in checkpoint.parts
    ]
