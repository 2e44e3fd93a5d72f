"""The contents that a folder may have after a loss of power, made from a recording of what was written and synced."""

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4_096
_CHANGES = frozenset(
    {"__exit__", "begin", "open_db", "commit", "open", "flush", "rename", "replace", "unlink", "pwrite", "ftruncate"}
)
"""The functions, of Python and of LMDB, that may have changed a folder."""
_SYNCS = (os.fsync, os.fdatasync)

Contents = dict[str, tuple[int, bytes]]
"""The files of a folder: inode and content by name."""


@dataclass
class Recording:
    """The contents of a folder over time; each file is on the disk up to one of them, its names up to another."""

    folder: Path
    moments: list[Contents] = field(default_factory=list)
    synced: dict[int, int] = field(default_factory=dict)
    """The moment up to which the content of each inode is on the disk."""
    names_synced: int = 0
    """The moment up to which the names are on the disk."""

    def look(self) -> None:
        """Add a moment if anything has changed."""
        contents = {
            path.name: (path.stat().st_ino, path.read_bytes())
            for path in sorted(self.folder.iterdir())
            if path.is_file() and path.name != "lock"
        }
        if not self.moments or contents != self.moments[-1]:
            self.moments.append(contents)

    def sync(self, inode: int) -> None:
        """Note that a file, or the folder itself, was synced."""
        self.look()
        if inode == self.folder.stat().st_ino:
            self.names_synced = len(self.moments) - 1
        else:
            self.synced[inode] = len(self.moments) - 1

    def image(self, chance: random.Random) -> dict[str, bytes]:
        """Return what a loss of power may leave: of each page any content since it was synced, as of the names."""
        names = self.moments[chance.randint(self.names_synced, len(self.moments) - 1)]
        return {name: self._content(inode, chance) for name, (inode, _) in names.items()}

    def _content(self, inode: int, chance: random.Random) -> bytes:
        since = self.synced.get(inode, -1)
        versions = [] if since >= 0 else [b""]
        for moment in self.moments[max(since, 0) :]:
            content = next((content for number, content in moment.values() if number == inode), None)
            if content is not None and (not versions or versions[-1] != content):
                versions.append(content)
        size = len(chance.choice((versions[-1], chance.choice(versions))))
        written = chance.choice((0.1, 0.5, 0.9))
        pages = []
        for start in range(0, size, PAGE):
            of_all = chance.choice((0.0, written)) if start < 2 * PAGE else written  # LMDB begins at the first two
            version = chance.choice(versions) if chance.random() < of_all else versions[0]
            pages.append(version[start : start + PAGE].ljust(min(PAGE, size - start), b"\0"))
        return b"".join(pages)


@contextmanager
def recorded(folder: Path) -> Iterator[Recording]:
    """Record what this thread does to a folder and its files, after any call that may change something."""
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording(folder)
    recording.look()

    def observe(_: object, event: str, called: Callable[..., object]) -> None:
        if event == "c_call" and called in _SYNCS:
            pending.extend(_open_inodes(folder))
        elif event == "c_return" and called in _SYNCS:
            for inode in pending:
                recording.sync(inode)
            pending.clear()
        elif event == "c_return" and getattr(called, "__qualname__", "") == "Environment.sync":
            recording.sync((folder / "data.mdb").stat().st_ino)
        elif event == "c_return" and getattr(called, "__name__", "") in _CHANGES:
            recording.look()

    pending: list[int] = []
    sys.setprofile(observe)
    try:
        yield recording
    finally:
        sys.setprofile(None)


def _open_inodes(folder: Path) -> list[int]:
    """Return the inodes of the folder and its files that Python has open: it syncs one at a time."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = link.readlink()
        except FileNotFoundError:
            continue
        if target == folder or (target.parent == folder and target.name not in ("data.mdb", "lock")):
            found.append(target.stat().st_ino)
    return found
