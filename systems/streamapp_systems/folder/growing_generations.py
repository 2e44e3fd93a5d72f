"""The files of generations that jobs have staged, as files that become more."""

from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path

from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.file.parquet_format import ParquetFormat
from streamapp_systems.folder.file_journal import FileJournal, Progress, SeenFile
from streamapp_systems.folder.generations import Generation, Generations, stream_folder
from streamapp_systems.folder.growing_files import OpenStreams
from streamapp_systems.folder.growing_folder import journals_of
from streamapp_systems.folder.version_journal import version_journal, version_layout
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


class GrowingGenerations:
    """The generations of a stream as `GrowingFiles`: a generation is a version of the journal."""

    keeps_files = True
    pause = 0.0

    def __init__(self, root: Place, journals: Path, descriptor: StreamDescriptor) -> None:
        self.descriptor = descriptor
        self.journal_path = version_journal(journals, descriptor)
        self._generations = Generations(stream_folder(root, descriptor.address))
        self._checked = False

    @cached_property
    def layout(self) -> str:
        """See `GrowingFiles.layout`."""
        return version_layout("generations", self.descriptor)

    def check_place(self) -> None:
        """See `GrowingFiles.check_place`: the folder is made with the first generation."""

    def look(self, journal: FileJournal, partitions: Collection[int], stopping: Callable[[], bool]) -> frozenset[int]:
        """See `GrowingFiles.look`; the files of all partitions are appended."""
        progress = journal.progress()
        self._check_same(progress)
        while (generation := self._generations.get((progress.version or 0) + 1)) is not None:
            if generation.source != (progress.source or generation.source):
                raise self._another()
            if generation.partitions != journal.partitions:
                raise StreamSystemError(
                    f"stream {self.descriptor.name}: generation {generation.number} in {self._generations.folder} was "
                    f"staged for {generation.partitions} partitions, and journal {self.journal_path} has "
                    f"{journal.partitions}: set `partitions` to {generation.partitions}, or name another folder "
                    "(`path`) and begin a new run"
                )
            following = Progress(generation.number, generation.source)
            if not journal.append(_seen(generation), following, progress.version):
                return frozenset(partitions)  # another reader was faster: its files come with the next look
            progress = following
            if stopping():
                return frozenset(partitions)
        return frozenset()

    def path(self, name: str) -> Place:
        """See `GrowingFiles.path`."""
        return self._generations.folder / name

    def format(self, journal: FileJournal | None, seen: SeenFile) -> FileFormat:  # noqa: ARG002 - all files have one
        """See `GrowingFiles.format`."""
        return ParquetFormat()

    def _check_same(self, progress: Progress) -> None:
        """Check, once, that the generation that the journal has come to is the one that is there."""
        if not self._checked and progress.version is not None:
            found = self._generations.get(progress.version)
            if found is None or found.source != progress.source:
                raise self._another()
        self._checked = True

    def _another(self) -> StreamSystemError:
        return StreamSystemError(
            f"stream {self.descriptor.name}: {self._generations.folder} has not the generations that journal "
            f"{self.journal_path} has read: they were removed, or staged anew. Put them back; or remove the journal "
            "and begin a new run"
        )


def _seen(generation: Generation) -> dict[int, list[SeenFile]]:
    """Return the files of a generation that have rows, by partition."""
    found: dict[int, list[SeenFile]] = {}
    for file in generation.files:
        name = f"{generation.folder}/{file.name}"
        seen = SeenFile(name=name, size=file.size, modified=None, records=file.records)
        found.setdefault(file.partition, []).append(seen)
    return found


def growing_generations(root: Place, journals: Path | None) -> OpenStreams:
    """Return what opens the staged streams; `journals` is the folder of their journals, if not below the root."""
    return lambda descriptor: GrowingGenerations(root, journals_of(root, journals, descriptor), descriptor)
