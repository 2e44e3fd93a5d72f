"""The versions of files: what tells a file that was changed or replaced from the one that was there before."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from streamapp_systems.file.partition_files import partition_files
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was at one time, from outside: its size and its modification time (ns since 1970)."""

    name: str
    size: int
    modified: int


class FileVersion(FileStat, frozen=True, kw_only=True):
    """A file as it was at one time, with the SHA-256 of its content.

    Size and time are looked at first. Where they differ, only the content decides: a file that was copied, touched, or
    is seen on another machine is the same one.
    """

    digest: str

    def is_current(self, path: Path) -> bool:
        """Return whether a file has this size and modification time; one that can't be read has not."""
        try:
            found = path.stat()
        except OSError:
            return False
        return (found.st_size, found.st_mtime_ns) == (self.size, self.modified)


def take_file_versions(
    root: Path, stream: StreamDescriptor, known: Sequence[FileVersion] = ()
) -> tuple[FileVersion, ...]:
    """Return the versions of the files of a stream now, in the order of its partitions.

    A file is read through if it is not among the `known` ones with its size and modification time.

    Raises:
        StreamSystemError: a file can't be read.
    """
    by_name = {version.name: version for version in known}
    found = []
    for path in partition_files(root, stream):
        name = relative_name(root, path)
        version = by_name.get(name)
        found.append(version if version is not None and version.is_current(path) else take_file_version(name, path))
    return tuple(found)


def take_file_stats(root: Path, stream: StreamDescriptor) -> tuple[FileStat, ...]:
    """Return the files of a stream now, in the order of its partitions; none is opened.

    Raises:
        StreamSystemError: a file is gone.
    """
    found = []
    for path in partition_files(root, stream):
        try:
            stat = path.stat()
        except OSError as error:
            raise StreamSystemError(f"{path} can't be read: {error}") from error
        found.append(FileStat(name=relative_name(root, path), size=stat.st_size, modified=stat.st_mtime_ns))
    return tuple(found)


def relative_name(root: Path, path: Path) -> str:
    """Return the name of a file: relative to the folder of its system, if it is below that."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def take_file_version(name: str, path: Path) -> FileVersion:
    """Return the version of a file, which is read through. If it changes meanwhile, it does not have that version.

    Raises:
        StreamSystemError: it can't be read.
    """
    try:
        before = path.stat()
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StreamSystemError(f"{path} can't be read: {error}") from error
    return FileVersion(name=name, size=before.st_size, modified=before.st_mtime_ns, digest=digest)
