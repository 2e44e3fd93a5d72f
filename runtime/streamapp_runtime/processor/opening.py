"""The start of a processor's tasks (`docs/protocols.md`, Start of a task): locks, states, parts left to publish."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from streamapp_core.job_model.model import TaskModel
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.state.checkpoint import Checkpoint
from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_runtime.state.lmdb_environment import DATA_FILE, LmdbEnvironment
from streamapp_runtime.state.task_state import Identity, TaskState
from streamapp_systems.protocols import FileOutput, StagedPart

_LOCK_SECONDS = 20.0


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
    ) -> None:
        """Take the folder of the run, and what tells this start of the machine from others."""
        self._folder = folder
        self._run_id = run_id
        self._boot_id = boot_id
        self._handles = handles
        self._clock = clock
        self._sleep = sleep

    def open(self, tasks: Mapping[str, TaskModel], connections: Connections) -> dict[str, TaskState]:
        """Lock the state of all tasks, then bring each up to its changelog.

        With all locks held no earlier worker of these tasks is alive, so the changelogs stand still.
        """
        with Taking(Step.TASK_LOCK):
            folders = {name: self._locked(name) for name in sorted(tasks)}
        states = {}
        with Taking(Step.TASK_RESTORE):
            for name, folder in folders.items():
                identity = Identity(run_id=self._run_id, task=name, boot_id=self._boot_id)
                with connections.changelog(tasks[name].changelog_partition) as changelog:
                    states[name] = TaskState(folder, identity, changelog)
                self._handles.callback(states[name].close)
        return states

    def open_shared(self, processor: str) -> LmdbEnvironment:
        """Open what all tasks of a processor share, empty: side inputs fill it anew at each start."""
        folder = self._locked(f"processor {processor}")
        (folder / DATA_FILE).unlink(missing_ok=True)
        environment = LmdbEnvironment(folder)
        self._handles.callback(environment.close)
        return environment

    def _locked(self, name: str) -> Path:
        folder = self._folder / name.replace(" ", "-")
        lock = FolderLock(folder, wait_seconds=_LOCK_SECONDS, clock=self._clock, sleep=self._sleep)
        self._handles.callback(lock.close)
        return folder


def publish_left(states: Mapping[str, TaskState], outputs: Mapping[str, FileOutput], processor: str) -> Counter[str]:
    """Publish the parts of commits that died before they could; tell how many rows this processor had written.

    `outputs` are by system.
    """
    written: Counter[str] = Counter()
    with Taking(Step.TASK_PUBLISH):
        for checkpoint in filter(None, (state.checkpoint for state in states.values())):
            for system, part in _parts(checkpoint):
                outputs[system].publish([part])
            if checkpoint.processor is not None and checkpoint.processor.processor == processor:
                written.update(checkpoint.processor.written)
    return written


def _parts(checkpoint: Checkpoint) -> list[tuple[str, StagedPart]]:
    if checkpoint.processor is None:
        return []
    return [
        (part.system, StagedPart(stream=part.stream, staged=part.staged, final=part.final))
        for part in checkpoint.processor.parts
    ]
