"""Disks that are full, and folders that may not be written to."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_FULL = "(No space left on device|disk is full|Input/output error; is the disk full)"
"""LMDB calls a write that had room for a part only an input/output error; SQLite says that the disk is full."""

_TOO_LARGE = "(File too large|disk I/O error)"
_READ_ONLY = "(Permission denied|readonly database)"


class SmallDisk:
    """A folder with little room: a small disk of its own, or, where none can be mounted, a limit on files' sizes."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        folder.mkdir()
        self._folder = folder
        self._mounted = _mount(f"size={kilobytes}k", folder)
        self.through: Sequence[str] = () if self._mounted else ("prlimit", f"--fsize={kilobytes << 10}")
        """The command through which processes find the disk full."""
        self.told = f"{folder}.*{_FULL}" if self._mounted else _TOO_LARGE
        """A pattern of what they say then."""

    def grow(self) -> None:
        """Make room."""
        self.through = ()
        if self._mounted:
            assert _mount("remount,size=1g", self._folder)

    def close(self) -> None:
        """Take the disk away."""
        if self._mounted:
            subprocess.run(["umount", self._folder], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[tuple[Sequence[str], str]]:
    """Forbid all writing below a folder for a while.

    Gives the command through which it is forbidden to root too, and a pattern of what processes say then.
    """
    modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield ("setpriv", "--bounding-set=-dac_override") if os.geteuid() == 0 else (), f"{folder}.*{_READ_ONLY}"
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def _mount(options: str, folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
