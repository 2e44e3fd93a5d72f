"""A lock on a folder: held by one process, released by the kernel when it dies."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from streamapp_runtime.errors import RuntimeFailure

_PAUSE_SECONDS = 0.05


class FolderInUse(RuntimeFailure):
    """Another process holds the lock of a folder."""


class FolderLock:
    """Holds the lock of a folder until it is closed."""

    def __init__(
        self, folder: Path, *, wait_seconds: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        """Acquire the lock, creating the folder if it is new; wait for a holder that is about to end.

        Raises:
            FolderInUse: another process holds it.
            RuntimeFailure: the folder can't be used.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RuntimeFailure(f"{folder} can't be used for state: {error.strerror}") from None
        deadline = clock() + wait_seconds
        while not self._try_lock():
            if clock() >= deadline:
                os.close(self._file)
                raise FolderInUse(f"{folder} is in use: another process holds its lock; is the app running twice?")
            sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
