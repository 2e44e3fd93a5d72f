"""A stream whose files become more, or are read as they are at one version, as its readers and admins need it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.folder.file_journal import FileJournal, SeenFile
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor, WholeVersion


class GrowingFiles(Protocol):
    """The files of one stream, and its journal, if it is followed as it grows. Used by one thread at a time."""

    @property
    def descriptor(self) -> StreamDescriptor:
        """The stream."""
        ...

    @property
    def journal_path(self) -> Path:
        """The place of its journal."""
        ...

    @property
    def layout(self) -> str:
        """The options that decide how many records its files have: a journal is of one layout."""
        ...

    @property
    def keeps_files(self) -> bool:
        """Whether files whose rows may still be read are never deleted, so that a new run needs all of them."""
        ...

    @property
    def pause(self) -> float:
        """The seconds that the next look should wait, for what one costs."""
        ...

    def check_place(self) -> None:
        """Check that there is a place where files may come.

        Raises:
            StreamSystemError: there is none.
        """
        ...

    def look(self, journal: FileJournal, partitions: Collection[int], stopping: Callable[[], bool]) -> frozenset[int]:
        """Append the new files of these partitions to the journal; return the partitions with some still to come.

        Ends early when `stopping` returns True.

        Raises:
            StreamSystemError: a file, or the journal, can't be read or written.
        """
        ...

    def path(self, name: str) -> Place:
        """Return the path of a file."""
        ...

    def format(self, journal: FileJournal | None, seen: SeenFile) -> FileFormat:
        """Return the reader of a file, of the journal or (None) of a version."""
        ...


@runtime_checkable
class VersionedFiles(GrowingFiles, Protocol):
    """The files of one stream that may also be read as they are at one version."""

    def latest_version(self) -> str:
        """Return the version of all files as they are now; no file with rows is read.

        Raises:
            StreamSystemError: there is no place where files may be, or it can't be read.
        """
        ...

    def version_files(self, whole: WholeVersion, partitions: Collection[int]) -> Mapping[int, Sequence[SeenFile]]:
        """Return the files of a version that are in these partitions, always in the same order.

        Raises:
            VersionGone: some of them, or what says which they are, is there no more.
            StreamSystemError: they can't be read.
        """
        ...


def open_version(open_stream: "OpenStreams", stream: StreamDescriptor) -> VersionedFiles:
    """Open a stream of which one version is read; the planner has refused others."""
    opened = open_stream(stream)
    assert isinstance(opened, VersionedFiles), f"{stream.name} has no versions"
    return opened


def resolve_version(stream: VersionedFiles, whole: WholeVersion) -> WholeVersion:
    """Return the version that is meant: where none is named, the latest one.

    Raises:
        StreamSystemError: see `VersionedFiles.latest_version`.
    """
    return whole if whole.version else replace(whole, version=stream.latest_version())


OpenStreams = Callable[[StreamDescriptor], GrowingFiles]
"""Opens streams by their descriptors."""
