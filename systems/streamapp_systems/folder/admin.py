"""Metadata of streams whose files become more, or are read as they are at one version."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from streamapp_core.ssp import Ssp
from streamapp_systems.folder.file_journal import FileJournal, has_journal, make_journal
from streamapp_systems.folder.growing_files import GrowingFiles, OpenStreams, open_version, resolve_version
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, WholeVersion


class FolderAdmin:
    """The journals of streams: a stream exists once it has one, though it may have no files yet.

    One that is read whole has none: all that is known of it is the version that its descriptor names.
    """

    def __init__(self, open_stream: OpenStreams) -> None:
        self._open_stream = open_stream

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count partitions, as `Admin.partitions` says.

        Raises:
            StreamSystemError: there is no place where files may come, or a journal can't be read.
        """
        counts = {}
        for stream in map(self._open_stream, streams):
            stream.check_place()
            if (whole := stream.descriptor.whole) is not None:
                counts[stream.descriptor.name] = whole.partitions
            elif (journal := _find_journal(stream)) is not None:
                with closing(journal):
                    counts[stream.descriptor.name] = journal.partitions
        return counts

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Make the journals of these streams where they are missing, as `Admin.create` says."""
        for descriptor, count in counts.items():
            stream = self._open_stream(descriptor)
            stream.check_place()
            if descriptor.whole is not None:
                continue
            make_journal(stream.journal_path, count, stream.layout)
            with closing(open_journal(stream)) as journal:
                if journal.partitions != count:
                    raise StreamSystemError(
                        f"stream {descriptor.name} has {journal.partitions} partitions, not {count}: journal "
                        f"{stream.journal_path} says so, and they never change"
                    )

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return, per partition, the offset after the files at its beginning that are gone."""
        starts = {ssp: 0 for stream, whole in _read_whole(streams) for ssp in _partitions(stream, whole)}
        for stream, journal in self._journals(streams):
            for partition in range(journal.partitions):
                files = journal.files(partition)
                there = (found.first for found in files if stream.keeps_files or stream.path(found.file.name).exists())
                first = next(there, None)
                end = journal.ends([partition])[partition] if first is None else first
                starts[Ssp(stream.descriptor.system, stream.descriptor.name, partition)] = end
        return starts

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends, as `Admin.end_offsets` says; complete files that nobody has seen yet are counted first.

        Raises:
            VersionGone: the version of a stream that is read whole is not there any more.
        """
        ends = {}
        for descriptor, whole in _read_whole(streams):
            versioned = open_version(self._open_stream, descriptor)
            files = versioned.version_files(resolve_version(versioned, whole), range(whole.partitions))
            for ssp in _partitions(descriptor, whole):
                ends[ssp] = sum(file.records for file in files.get(ssp.partition, ()))
        for stream, journal in self._journals(streams):
            stream.look(journal, range(journal.partitions), lambda: False)
            for partition, end in journal.ends(range(journal.partitions)).items():
                ends[Ssp(stream.descriptor.system, stream.descriptor.name, partition)] = end
        return ends

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Return the identities of journals, as `Admin.identities` says; that of a missing one is empty.

        What is read whole has none: any version may follow another one.
        """
        found = {stream.name: "" for stream in streams if stream.whole is None}
        return found | {stream.descriptor.name: journal.identity for stream, journal in self._journals(streams)}

    def close(self) -> None:
        """Nothing is held open."""

    def _journals(self, streams: Sequence[StreamDescriptor]) -> Iterator[tuple[GrowingFiles, FileJournal]]:
        for stream in map(self._open_stream, (stream for stream in streams if stream.whole is None)):
            journal = _find_journal(stream)
            if journal is not None:
                with closing(journal):
                    yield stream, journal


def _read_whole(streams: Iterable[StreamDescriptor]) -> Iterator[tuple[StreamDescriptor, WholeVersion]]:
    return ((stream, stream.whole) for stream in streams if stream.whole is not None)


def _partitions(stream: StreamDescriptor, whole: WholeVersion) -> list[Ssp]:
    return [Ssp(stream.system, stream.name, partition) for partition in range(whole.partitions)]


def _find_journal(stream: GrowingFiles) -> FileJournal | None:
    """Open the journal of a stream if it has one; one of another layout that has seen nothing is none of it.

    Raises:
        StreamSystemError: it can't be read, or it is of another layout.
    """
    if not has_journal(stream.journal_path):
        return None
    journal = FileJournal(stream.journal_path)
    if journal.layout != stream.layout and journal.is_empty():
        journal.close()
        return None
    return _of_layout(journal, stream)


def open_journal(stream: GrowingFiles) -> FileJournal:
    """Open the journal of a stream.

    Raises:
        StreamSystemError: there is none, it can't be read, or it is of another layout.
    """
    return _of_layout(FileJournal(stream.journal_path), stream)


def _of_layout(journal: FileJournal, stream: GrowingFiles) -> FileJournal:
    if journal.layout == stream.layout:
        return journal
    journal.close()
    raise StreamSystemError(
        f"stream {stream.descriptor.name}: journal {stream.journal_path} has counted its files as {journal.layout}, "
        f"and the spec says {stream.layout}. Correct the stream; if no other app reads it, remove the journal "
        "and begin a new run"
    )
