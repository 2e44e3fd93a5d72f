"""A stream whose files become more, as its readers and admins need it."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.folder.file_journal import FileJournal, SeenFile
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor


class GrowingFiles(Protocol):
    """The files of one stream, and its journal. Used by one thread at a time."""

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
        """Return the path of a file of the journal."""
        ...

    def format(self, journal: FileJournal, seen: SeenFile) -> FileFormat:
        """Return the reader of a file of the journal."""
        ...


OpenStreams = Callable[[StreamDescriptor], GrowingFiles]
"""Opens streams by their descriptors."""
