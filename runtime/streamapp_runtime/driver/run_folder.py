"""Where a run on this machine keeps what it needs: `.streamapp/<app>/` beside the YAML (design 12)."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Self

from streamapp_runtime.errors import RuntimeFailure


class RunFolder:
    """The folder of one app, held by one driver at a time; the kernel frees it when its holder dies."""

    def __init__(self, path: Path) -> None:
        """Take the folder, making it if it is new.

        Raises:
            RuntimeFailure: another driver holds it, or it can't be written.
        """
        self.path = path
        self.metadata = path / "metadata.db"
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RuntimeFailure(f"{path} can't be used for the app's state: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise RuntimeFailure(f"the app is running already: another process holds {path / 'lock'}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def state(self, run_id: str) -> Path:
        """Tell where the tasks of a run keep their state."""
        return self.path / "state" / run_id

    def forget(self, run_id: str) -> None:
        """Remove the state of a run."""
        shutil.rmtree(self.state(run_id), ignore_errors=True)
