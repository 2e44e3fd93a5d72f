"""Where a run on this machine keeps what it needs: `.streamapp/<app>/` beside the YAML (design 12)."""

import shutil
import time
from pathlib import Path
from typing import Self

from streamapp_runtime.state.folder_lock import FolderLock


class RunFolder:
    """The folder of one app, held by one driver at a time; the kernel frees it when its holder dies."""

    def __init__(self, path: Path) -> None:
        """Take the folder, making it if it is new.

        Raises:
            RuntimeFailure: another driver holds it, or it can't be written.
        """
        self.path = path
        self.metadata = path / "metadata.db"
        self._lock = FolderLock(path, wait_seconds=0, clock=time.monotonic, sleep=time.sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def state(self, run_id: str) -> Path:
        """Tell where the tasks of a run keep their state."""
        return self.path / "state" / run_id

    def forget_all_but(self, run_id: str) -> None:
        """Remove the state of other runs."""
        state = self.path / "state"
        for folder in state.iterdir() if state.is_dir() else ():
            if folder.name != run_id:
                shutil.rmtree(folder, ignore_errors=True)
