"""The files of a Delta table in the order of its versions: those that are added, or those with its changes."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.folder.changed_files import ChangedFiles, ChangedRows, ChangeFile, parse_change_file
from streamapp_systems.folder.delta_log import Commit, CommitStat, DataFile, DeltaLog, Snapshot, TableMetadata
from streamapp_systems.folder.delta_rows import DeltaRows, table_mismatches
from streamapp_systems.folder.file_journal import FileJournal, Progress, SeenFile
from streamapp_systems.folder.growing_files import OpenStreams
from streamapp_systems.folder.growing_folder import file_partition, journals_of
from streamapp_systems.folder.version_journal import refuse_changes, version_journal, version_layout
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, VersionGone, WholeVersion

_COUNTED_AT_ONCE = 16
"""Files whose records are counted side by side: in a store of objects each takes a while, and hardly any work."""


class GrowingTable:
    """The files of a table as `GrowingFiles`: those of the version at first sight, then those that versions add.

    Files that only compact others add nothing. With `startingVersion` the first version is that one. A stream whose
    rows replace each other has the files with what versions insert and delete, under the names of `ChangeFile`.
    """

    keeps_files = True
    pause = 0.0

    def __init__(self, root: Place, journals: Path, descriptor: StreamDescriptor) -> None:
        self.descriptor = descriptor
        self.journal_path = version_journal(journals, descriptor)
        self._table = root / descriptor.address
        self._log = DeltaLog(self._table)
        self._checked: CommitStat | None = None
        """The latest commit when the table was last checked to be that of the journal."""
        self._changes = ChangedFiles(descriptor.change_key, _rows, lambda path: self._table / path)

    @property
    def layout(self) -> str:
        """See `GrowingFiles.layout`."""
        return version_layout("delta", self.descriptor)

    def check_place(self) -> None:
        """See `GrowingFiles.check_place`."""
        self._log.check_there()

    def look(self, journal: FileJournal, partitions: Collection[int], stopping: Callable[[], bool]) -> frozenset[int]:
        """See `GrowingFiles.look`; the files of all partitions are appended."""
        progress = journal.progress()
        if self._checked is None or not self._log.has(self._checked):
            progress = self._begin(journal, progress)
        latest = self._log.latest_version()
        if progress.version is None or latest < progress.version:
            raise self._another()
        version = progress.version
        while version < latest:
            commit = self._log.commit(version + 1)
            self._check(commit, progress)
            files = self._seen(journal, commit)
            if not journal.append(files, Progress(commit.version, progress.source), version):
                return frozenset(partitions)  # another reader was faster: its files come with the next look
            version = commit.version
            if stopping():
                return frozenset(partitions)
        return frozenset()

    def latest_version(self) -> str:
        """See `VersionedFiles.latest_version`: its number, and what tells it from that of a table made again."""
        version = self._log.latest_with_files()
        if version < 0:
            raise StreamSystemError(f"stream {self.descriptor.name}: the log of table {self._table} has no version")
        return f"{version}-{self._log.fingerprint(version)}"

    def version_files(self, whole: WholeVersion, partitions: Collection[int]) -> Mapping[int, list[SeenFile]]:
        """See `VersionedFiles.version_files`."""
        number, _, fingerprint = whole.version.partition("-")
        try:
            same = self._log.fingerprint(int(number)) == fingerprint
            snapshot = self._log.snapshot(int(number)) if same else None
        except VersionGone as gone:
            raise self._gone(number, str(gone)) from gone
        if snapshot is None:
            raise self._gone(number, "the table was made again")
        self._log.check_whole(snapshot.files)
        self._check_columns(snapshot.metadata, snapshot.version)
        files = [file for file in snapshot.files if file_partition(file.path, whole.partitions) in partitions]
        return self._by_partition(files, whole.partitions)

    def path(self, name: str) -> Place:
        """See `GrowingFiles.path`."""
        return self._table / (parse_change_file(name).path if self.descriptor.change_key else name)

    def format(self, journal: FileJournal | None, seen: SeenFile) -> FileFormat:
        """See `GrowingFiles.format`."""
        return _rows(seen) if journal is None or not self.descriptor.change_key else self._changes.format(journal, seen)

    def mismatches(self) -> list[str]:
        """Return why the stream's columns can't be read of the table as it is now, each reason with what to do.

        Raises:
            StreamSystemError: there is no table, or it can't be read.
        """
        return self._mismatches(self._snapshot().metadata)

    def _snapshot(self) -> Snapshot:
        """Read the table as it is now; rows that are marked as deleted may be there once a feed has said that."""
        snapshot = self._log.snapshot()
        if not self.descriptor.change_key:
            self._log.check_whole(snapshot.files)
        return snapshot

    def _begin(self, journal: FileJournal, progress: Progress) -> Progress:
        """Check that the table is that of the journal, and fill the journal if it is new."""
        checked = self._log.latest_commit()
        snapshot = self._snapshot()
        self._check_columns(snapshot.metadata, snapshot.version)
        if progress.version is None:
            first = self._first(snapshot)
            self._log.check_whole(first.files)
            whole = Commit(version=first.version, added=list(first.files))
            journal.append(self._seen(journal, whole), Progress(first.version, first.metadata.id), None)
            progress = journal.progress()
        if progress.source != snapshot.metadata.id:
            raise self._another()
        self._checked = checked
        return progress

    def _first(self, snapshot: Snapshot) -> Snapshot:
        starting = self.descriptor.starting_version
        if starting is None:
            return snapshot
        if starting > snapshot.version + 1:
            raise StreamSystemError(
                f"stream {self.descriptor.name}: table {self._table} has no version {starting}, but "
                f"{snapshot.version}: correct `startingVersion`"
            )
        return Snapshot(version=starting - 1, metadata=snapshot.metadata, files=())

    def _seen(self, journal: FileJournal, commit: Commit) -> Mapping[int, list[SeenFile]]:
        """Return the files of a version that are read, by partition; changes are in one, so that they have an order."""
        if not self.descriptor.change_key:
            return self._by_partition(commit.added, journal.partitions)
        changes = tuple(_changes_of(commit))
        counted = self._counted([file for _, file in changes])
        named = zip(changes, counted, strict=True)
        found = [replace(seen, name=ChangeFile(commit.version, rows, seen.name).name) for (rows, _), seen in named]
        return {0: found} if found else {}

    def _by_partition(self, files: Sequence[DataFile], partitions: int) -> dict[int, list[SeenFile]]:
        found: dict[int, list[SeenFile]] = {}
        for seen in self._counted(files):
            found.setdefault(file_partition(seen.name, partitions), []).append(seen)
        return found

    def _counted(self, files: Sequence[DataFile]) -> list[SeenFile]:
        with ThreadPoolExecutor(_COUNTED_AT_ONCE) as threads:
            try:
                return list(threads.map(self._count, files))
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise

    def _count(self, file: DataFile) -> SeenFile:
        path = self._table / file.path
        columns = json.dumps(dict(file.values)) if file.values else None
        try:
            size, records = path.stat().st_size, DeltaRows(file.values).count(path)
        except (OSError, ValueError, pa.ArrowException) as error:
            if self.descriptor.whole is not None and isinstance(error, FileNotFoundError):
                raise self._gone(self.descriptor.whole.version, f"{path} was vacuumed") from error
            raise StreamSystemError(
                f"stream {self.descriptor.name}: {path} can't be read: {error}. If it was vacuumed, its rows are "
                "in other files now, and a new run without its journal reads the table as it is now"
            ) from error
        return SeenFile(name=file.path, size=size, modified=None, records=records, columns=columns)

    def _check(self, commit: Commit, progress: Progress) -> None:
        if commit.metadata is not None and commit.metadata.id != progress.source:
            raise self._another()
        changes = bool(self.descriptor.change_key)
        if commit.removed and not changes:
            what = (
                f"stream {self.descriptor.name}: version {commit.version} of table {self._table} ({commit.operation})"
            )
            raise refuse_changes(what, self.journal_path)
        if not (changes and commit.change_data):
            self._log.check_whole([*commit.added, *commit.removed])
            if commit.unplaced:
                raise StreamSystemError(
                    f"stream {self.descriptor.name}: version {commit.version} of table {self._table} removes "
                    f"{commit.unplaced[0]} and does not say of which partition (`partitionValues`). Remove journal "
                    f"{self.journal_path}, and begin a new run, which reads the table as it is now"
                )
        if commit.metadata is not None:
            self._check_columns(commit.metadata, commit.version)

    def _check_columns(self, metadata: TableMetadata, version: int) -> None:
        mismatches = self._mismatches(metadata)
        if mismatches:
            raise StreamSystemError(
                f"stream {self.descriptor.name}: at version {version} of table {self._table} {'; '.join(mismatches)}. "
                "Correct the stream's schema"
            )

    def _mismatches(self, metadata: TableMetadata) -> list[str]:
        return [] if self.descriptor.schema is None else list(table_mismatches(self.descriptor.schema, metadata))

    def _gone(self, version: str, why: str) -> VersionGone:
        return VersionGone(
            f"stream {self.descriptor.name}: version {version} of table {self._table} is there no more: {why}"
        )

    def _another(self) -> StreamSystemError:
        return StreamSystemError(
            f"stream {self.descriptor.name}: {self._table} is another table than the one whose files journal "
            f"{self.journal_path} has: it was deleted and made again. Remove the journal, and begin a new run"
        )


def _changes_of(commit: Commit) -> Iterator[tuple[ChangedRows, DataFile]]:
    """Yield the files with the changes of a version, in the order in which they are read.

    Where there is change data, it has all changes of the version.
    """
    if commit.change_data:
        yield from ((ChangedRows.DELETED, file) for file in commit.change_data)
        yield from ((ChangedRows.INSERTED, file) for file in commit.change_data)
        return
    yield from ((ChangedRows.REMOVED, file) for file in commit.removed)
    yield from ((ChangedRows.ADDED, file) for file in commit.added)


def _rows(seen: SeenFile) -> DeltaRows:
    return DeltaRows(json.loads(seen.columns or "{}"))


def growing_tables(root: Place, journals: Path | None) -> OpenStreams:
    """Return what opens the tables below a folder; `journals` is the folder of their journals, if not below it."""
    return lambda descriptor: GrowingTable(root, journals_of(root, journals, descriptor), descriptor)
