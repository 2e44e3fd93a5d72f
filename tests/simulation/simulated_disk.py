"""The disks of simulated machines: what was written and not synced may be lost, page by page, when the power goes.

It takes the place of LMDB's and the operating system's functions, for the whole process: a simulation has one of its
own. Files are real ones.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from simulation.simulated_process import SimulatedProcess

_PAGE = 4_096
_LOST_NAMES = 0.5
_WRITTEN_BACK = 0.2
"""How often the kernel has written pages to the disk by itself before a store changes again."""
_DATA_FILE = "data.mdb"
CurrentProcess = Callable[[], SimulatedProcess | None]


class SimulatedLmdb:
    """An LMDB environment that a simulated process has open: see `lmdb.Environment`."""

    def __init__(self, environment: Any, folder: Path, process: SimulatedProcess, disk: "Disk") -> None:
        self._environment = environment
        self._folder = folder
        self._process = process
        self._disk = disk
        process.resources.append(self)

    def begin(self, *arguments: Any, write: bool = False, **options: Any) -> Any:
        """Begin a transaction; one that writes is a step of its process."""
        if write:
            self._process.step("LMDB write")
            self._disk.write_back(self._folder / _DATA_FILE)
        else:
            self._process.raise_if_dead()
        return self._environment.begin(*arguments, write=write, **options)

    def open_db(self, *arguments: Any, **options: Any) -> Any:
        """See `lmdb.Environment.open_db`."""
        return self._environment.open_db(*arguments, **options)

    def info(self) -> Any:
        """See `lmdb.Environment.info`."""
        return self._environment.info()

    def stat(self) -> Any:
        """See `lmdb.Environment.stat`."""
        return self._environment.stat()

    def sync(self, force: bool = False) -> None:
        """Sync: what was committed survives a loss of power."""
        self._process.step("LMDB sync")
        self._environment.sync(force)
        self._disk.note_synced(self._folder / _DATA_FILE)

    def close(self) -> None:
        """Close."""
        self.release()
        if self in self._process.resources:
            self._process.resources.remove(self)

    def release(self) -> None:
        """Close as the kernel does when a process dies: nothing is written."""
        self._environment.close()


class Disk:
    """The disk of one machine: what its files would hold after a loss of power."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        """Take what decides which pages the kernel writes by itself, and when."""
        self.folder = folder
        self._chance = chance
        self._synced: dict[Path, bytes] = {}
        self._inodes: dict[Path, int] = {}
        """By the path of a store: the file that it was when its pages were written."""
        self._renamed: list[tuple[Path, Path]] = []

    def note_synced(self, path: Path) -> None:
        """Note that a file's content is on the disk now, or the names in a folder."""
        if path.is_dir():
            self._renamed = [names for names in self._renamed if names[1].parent != path]
        else:
            self._synced[path] = path.read_bytes() if path.exists() else b""
            self._inodes.pop(path, None)

    def write_back(self, path: Path) -> None:
        """Let the kernel write any pages of a store now, as it does after a while: there they stay, as they are now.

        So a disk has pages of several times, none of which need fit the others.
        """
        if self._chance.random() < _WRITTEN_BACK:
            self._synced[path] = _mix(path.read_bytes(), self._stored(path), self._chance, self._chance.random())

    def _stored(self, path: Path) -> bytes:
        """Return what the disk has of a store; nothing, if its file is a new one."""
        inode = path.stat().st_ino
        if self._inodes.setdefault(path, inode) != inode:
            self._inodes[path], self._synced[path] = inode, b""
        return self._synced.get(path, b"")

    def note_renamed(self, old: Path, new: Path) -> None:
        """Note that a file gets another name."""
        self._renamed.append((old, new))
        self._synced[new] = self._synced.pop(old, b"")

    def lose_power(self, chance: random.Random, is_here: Callable[[Path], bool]) -> None:
        """Leave of each file what was synced, and any of the pages written since."""
        for old, new in reversed(self._renamed):
            if is_here(new) and new.exists() and chance.random() < _LOST_NAMES:
                new.rename(old)
                self._synced[old] = self._synced.pop(new, b"")
        self._renamed.clear()
        for path in sorted(filter(is_here, self.folder.rglob("part-*"))):
            if (synced := self._synced.get(path, b"")) != path.read_bytes():
                path.write_bytes(synced)
        for path in sorted(filter(is_here, self.folder.rglob(_DATA_FILE))):
            image = _mix(path.read_bytes(), self._stored(path), chance, chance.choice([0.0, 0.5, 0.5, 1.0]))
            path.write_bytes(image)
            self._synced[path] = image


def _mix(written: bytes, stored: bytes, chance: random.Random, share: float) -> bytes:
    """Return what is stored when a share of the pages that were written has reached the disk."""
    pages = range(0, max(len(written), len(stored)), _PAGE)
    return b"".join(
        (written if chance.random() < share else stored)[at : at + _PAGE].ljust(_PAGE, b"\0") for at in pages
    )


@contextmanager
def simulated_disks(current: CurrentProcess, disk_of: Callable[[Path], Disk]) -> Iterator[None]:
    """Let simulated processes have simulated disks."""
    opened, replaced, fsync, fdatasync = lmdb.open, Path.replace, os.fsync, os.fdatasync

    def open_environment(path: str, **options: Any) -> Any:
        process = current()
        environment = opened(path, **options)
        folder = Path(path)
        return environment if process is None else SimulatedLmdb(environment, folder, process, disk_of(folder))

    def replace(self: Path, target: Path) -> Path:
        if (process := current()) is not None:
            process.step(f"rename {self.name}")
        renamed = replaced(self, target)
        if process is not None:
            disk_of(target).note_renamed(self, target)
        return renamed

    def sync(file: int, name: str = "fsync") -> None:
        if (process := current()) is not None:
            process.step(name)
            path = Path(f"/proc/self/fd/{file}").readlink()
            disk_of(path).note_synced(path)

    lmdb.open, Path.replace, os.fsync, os.fdatasync = (
        open_environment,
        replace,
        sync,
        lambda file: sync(file, "fdatasync"),
    )
    try:
        yield
    finally:
        lmdb.open, Path.replace, os.fsync, os.fdatasync = opened, replaced, fsync, fdatasync
