"""The folder of a run on this machine: `.streamapp/<app>/` beside the YAML."""

import shutil
from pathlib import Path
from typing import Self

from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_systems.clock import Clock

METADATA = "metadata.db"
_WORKER_SECONDS = 20.0
"""The time that a worker whose driver is gone may take to end: twice as long as it waits for an answer."""


class RunFolder:
    """The folder of one app, held by one driver at a time; the kernel frees it when its holder dies."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Take the folder, making it if it is new.

        Raises:
            RuntimeFailure: another driver holds it, or it can't be written.
        """
        self.path = path
        self.metadata = path / METADATA
        self._lock = FolderLock(path, wait_seconds=0, clock=clock.monotonic, sleep=clock.sleep)
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def state(self, run_id: str) -> Path:
        """Return the folder where the tasks of a run keep their state."""
        return self.path / "state" / run_id

    def other_states(self, run_id: str) -> list[Path]:
        """Return the folders with the state of other runs."""
        return [run for run in _folders(self.path / "state") if run.name != run_id]

    def delete_other_states(self, run_id: str) -> None:
        """Delete the state of other runs, once no worker of theirs is alive: one might still publish results.

        Raises:
            RuntimeFailure: a worker of an earlier run does not end.
        """
        for run in self.other_states(run_id):
            for task in _folders(run):
                clock = self._clock
                FolderLock(task, wait_seconds=_WORKER_SECONDS, clock=clock.monotonic, sleep=clock.sleep).close()
            shutil.rmtree(run, ignore_errors=True)


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []
