"""Temporary folders that are not left behind: what a killed process could not remove, the next one does."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_YOUNG_SECONDS = 60
"""A folder of that age may not be locked by its owner yet."""


class Scratch:
    """A temporary folder, whose name begins with a prefix, and which is locked as long as its owner lives.

    Folders of that prefix that nobody holds any more go first. What is in the folder may be removed, the folder itself
    by `close` only.
    """

    def __init__(self, prefix: str, *, within: Path | None = None, young: float = _YOUNG_SECONDS) -> None:
        place = within or Path(tempfile.gettempdir())
        for folder in place.glob(f"{prefix}*"):
            with suppress(OSError):  # another user's, or another process was faster
                _remove_if_left(folder, young)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._lock = _lock(self.folder)

    def close(self) -> None:
        """Remove the folder with all it holds."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _remove_if_left(folder: Path, young: float) -> None:
    if time.time() - folder.stat().st_ctime < young:
        return
    lock = _lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the descriptor is closed, which the end of the process does too; none if another holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
