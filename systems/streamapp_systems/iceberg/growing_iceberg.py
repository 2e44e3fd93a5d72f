"""The files of a table of Iceberg in the order of its snapshots: those that are added, or those with its changes."""

import base64
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.manifest import DataFile, FileFormat, ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.transforms import IdentityTransform

from streamapp_systems.file.file_chunks import FileFormat as FileReader
from streamapp_systems.folder.changed_files import ChangedFiles, ChangedRows, ChangeFile, parse_change_file
from streamapp_systems.folder.column_types import type_mismatches
from streamapp_systems.folder.file_journal import FileJournal, Progress, SeenFile
from streamapp_systems.folder.growing_folder import file_partition
from streamapp_systems.folder.version_journal import refuse_changes, version_journal, version_layout
from streamapp_systems.iceberg.iceberg_layout import LATEST_FORMAT
from streamapp_systems.iceberg.iceberg_rows import IcebergRows
from streamapp_systems.iceberg.iceberg_table import IcebergTable
from streamapp_systems.iceberg.iceberg_types import column_type, stored_field
from streamapp_systems.iceberg.locations import place_of
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, VersionGone, WholeVersion

_Files = Sequence[tuple[ChangedRows, DataFile]]
_NOTHING = 0
"""The version of a journal whose table had no snapshot: the ids of snapshots are above."""


class GrowingIceberg:
    """The files of a table as `GrowingFiles`: those of the snapshot at first sight, then those that snapshots add.

    The version of the journal is the id of a snapshot. `startingVersion` is a snapshot's sequence number. A stream
    whose rows replace each other has the files that snapshots remove and add, under the names of `ChangeFile`.
    """

    keeps_files = True
    pause = 0.0

    def __init__(self, table: IcebergTable, root: Place, journals: Path, descriptor: StreamDescriptor) -> None:
        self.descriptor = descriptor
        self.journal_path = version_journal(journals, descriptor)
        self._table = table
        self._root = root
        self._where = f"stream {descriptor.name}: table {descriptor.address}"
        self._changes = ChangedFiles(descriptor.change_key, self._rows, lambda path: place_of(path, root))

    @property
    def layout(self) -> str:
        """See `GrowingFiles.layout`."""
        return version_layout("iceberg", self.descriptor)

    def check_place(self) -> None:
        """See `GrowingFiles.check_place`."""
        self._load()

    def look(self, journal: FileJournal, partitions: Collection[int], stopping: Callable[[], bool]) -> frozenset[int]:
        """See `GrowingFiles.look`; the files of all partitions are appended."""
        table = self._load()
        self._check_columns(table.metadata)
        progress = journal.progress()
        if progress.version is None:
            first, files = self._first(table)
            seen = self._seen(journal.partitions, table, first, files)
            journal.append(seen, Progress(first, str(table.metadata.table_uuid)), None)
            progress = journal.progress()
        if progress.version is None or progress.source != str(table.metadata.table_uuid):
            raise StreamSystemError(
                f"{self._where} is another one than the one whose files journal {self.journal_path} has: it was "
                "dropped and made again. Remove the journal, and begin a new run"
            )
        version = progress.version
        for snapshot in self._snapshots_after(table.metadata, version):
            after, version = version, snapshot.snapshot_id
            # A table of which nothing was read is read as it was with the first snapshot that is there.
            files = (self._live if after == _NOTHING else self._changed)(table, snapshot)
            seen = self._seen(journal.partitions, table, version, files)
            if not journal.append(seen, Progress(version, progress.source), after) or stopping():
                return frozenset(partitions)  # those that another reader has appended come with the next look
        return frozenset()

    def latest_version(self) -> str:
        """See `VersionedFiles.latest_version`: the id of a snapshot."""
        return str(self._load().metadata.current_snapshot_id or _NOTHING)

    def version_files(self, whole: WholeVersion, partitions: Collection[int]) -> Mapping[int, list[SeenFile]]:
        """See `VersionedFiles.version_files`."""
        table, version = self._load(), int(whole.version)
        self._check_columns(table.metadata)
        if version == _NOTHING:
            return {}
        snapshot = table.metadata.snapshot_by_id(version)
        if snapshot is None:
            raise VersionGone(f"{self._where}: snapshot {version} has expired, or the table was dropped and made again")
        found = self._seen(whole.partitions, table, version, self._live(table, snapshot))
        return {partition: files for partition, files in found.items() if partition in partitions}

    def path(self, name: str) -> Place:
        """See `GrowingFiles.path`."""
        return place_of(parse_change_file(name).path if self.descriptor.change_key else name, self._root)

    def format(self, journal: FileJournal | None, seen: SeenFile) -> FileReader:
        """See `GrowingFiles.format`."""
        if journal is None or not self.descriptor.change_key:
            return self._rows(seen)
        return self._changes.format(journal, seen)

    def _rows(self, seen: SeenFile) -> IcebergRows:
        metadata = self._load().metadata
        self._check_columns(metadata)
        names = metadata.name_mapping()
        columns = [column for column in metadata.schema().fields if column_type(column.field_type) is not None]
        return IcebergRows(
            columns=pa.schema(map(stored_field, columns)),
            names={field.field_id: tuple(field.names) for field in names.root if field.field_id} if names else {},
            values=json.loads(seen.columns or "{}"),
        )

    def mismatches(self) -> list[str]:
        """Return why the stream's columns can't be read of the table as it is now, each reason with what to do.

        Raises:
            StreamSystemError: there is no table, or it can't be read.
        """
        return self._mismatches(self._load().metadata)

    def _load(self) -> Table:
        version = self._table.load()
        if version is None:
            raise StreamSystemError(f"{self._where} is not in its catalog. Correct the stream's name, or create it")
        if version.table.metadata.format_version > LATEST_FORMAT:
            raise StreamSystemError(
                f"{self._where} has version {version.table.metadata.format_version} of Iceberg's format, of which "
                f"{LATEST_FORMAT} is read: make a copy"
            )
        return version.table

    def _first(self, table: Table) -> tuple[int, _Files]:
        """Return the id of a snapshot, and the files that are read up to it: all of them, or what it has changed."""
        starting, current = self.descriptor.starting_version, table.current_snapshot()
        if starting is None:
            return (_NOTHING, ()) if current is None else (current.snapshot_id, self._live(table, current))
        snapshot = current
        while snapshot is not None and snapshot.sequence_number != starting:
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        if snapshot is not None:
            return snapshot.snapshot_id, self._changed(table, snapshot)
        latest = 0 if current is None else current.sequence_number or 0
        if table.metadata.format_version > 1 and starting == latest + 1:
            return (_NOTHING if current is None else current.snapshot_id), ()
        raise StreamSystemError(
            f"{self._where} has no snapshot with the sequence number {starting}, but those of tables of format "
            f"version 2 up to {latest} that have not expired: correct `startingVersion`"
        )

    def _snapshots_after(self, metadata: TableMetadata, version: int) -> Iterator[Snapshot]:
        """Yield the snapshots that followed one, the oldest first.

        Raises:
            StreamSystemError: some have expired, or the table does not go back to that one.
        """
        found: list[Snapshot] = []
        number = metadata.current_snapshot_id or _NOTHING
        while number != version:
            snapshot = metadata.snapshot_by_id(number)
            if snapshot is None and version == _NOTHING and found:
                break  # some have expired, and their rows are in the files of the first that is left
            if snapshot is None:
                raise self._interrupted(metadata, version)
            found.append(snapshot)
            number = snapshot.parent_snapshot_id or _NOTHING
        return reversed(found)

    def _interrupted(self, metadata: TableMetadata, version: int) -> StreamSystemError:
        if metadata.snapshot_by_id(version) is None:
            why = f"snapshots behind {version}, up to which it was read, have expired, and which rows were theirs"
        else:
            why = f"it was rolled back or replaced, and does not follow snapshot {version} any more, which was read"
        return StreamSystemError(
            f"{self._where}: {why}. Stop the apps that read it, remove journal {self.journal_path}, and begin new "
            "runs, which read the table as it is now"
        )

    def _live(self, table: Table, snapshot: Snapshot) -> _Files:
        """Return the files of a snapshot, in the order in which they were added.

        Raises:
            StreamSystemError: rows in them are marked as deleted.
        """
        found = []
        with self._table.explained(f"{self._where} can't be read"):
            for manifest in snapshot.manifests(table.io):
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                if manifest.content is ManifestContent.DATA:
                    found += [(entry.sequence_number or 0, entry.data_file) for entry in entries]
                elif entries:
                    raise StreamSystemError(
                        f"{self._where}: rows are marked as deleted, which is not read. Rewrite the table without "
                        "marks: CALL system.rewrite_data_files, with `delete-file-threshold` 1"
                    )
        ordered = sorted(found, key=lambda item: (item[0], item[1].file_path))
        return [(ChangedRows.ADDED, file) for _, file in ordered]

    def _changed(self, table: Table, snapshot: Snapshot) -> _Files:
        """Return the files whose rows a snapshot removes, if these are read, and then those with its new rows.

        Raises:
            StreamSystemError: it changes or deletes rows, and none may go, or it only marks them as deleted.
        """
        operation = None if snapshot.summary is None else snapshot.summary.operation
        if operation is Operation.REPLACE:  # the same rows in other files
            return []
        added, removed, marks = list[DataFile](), list[DataFile](), False
        with self._table.explained(f"{self._where}: snapshot {snapshot.snapshot_id} can't be read"):
            for manifest in snapshot.manifests(table.io):
                if manifest.added_snapshot_id != snapshot.snapshot_id:
                    continue
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                    if entry.snapshot_id != snapshot.snapshot_id or entry.status is ManifestEntryStatus.EXISTING:
                        continue
                    if manifest.content is ManifestContent.DELETES:
                        marks = True
                    else:
                        (removed if entry.status is ManifestEntryStatus.DELETED else added).append(entry.data_file)
        what = f"{self._where}: snapshot {snapshot.snapshot_id} ({operation.value if operation else 'no operation'})"
        if not self.descriptor.change_key and (removed or marks or operation is Operation.DELETE):
            raise refuse_changes(what, self.journal_path)
        if marks:
            raise StreamSystemError(
                f"{what} marks rows as deleted, which is not read. Have its writers write files anew (`write.delete."
                "mode`, `write.update.mode` and `write.merge.mode`: copy-on-write), rewrite the table without marks "
                "(CALL system.rewrite_data_files, with `delete-file-threshold` 1), remove journal "
                f"{self.journal_path}, and begin a new run, which reads the table as it is then"
            )
        return [(ChangedRows.REMOVED, file) for file in removed] + [(ChangedRows.ADDED, file) for file in added]

    def _seen(self, partitions: int, table: Table, version: int, files: _Files) -> Mapping[int, list[SeenFile]]:
        """Return the files that are read, by partition; changes are in one, so that they have an order."""
        found: dict[int, list[SeenFile]] = {}
        for rows, file in files:
            if file.file_format is not FileFormat.PARQUET:
                raise StreamSystemError(
                    f"{self._where}: {file.file_path} is {file.file_format}, and files of Parquet are read: rewrite it"
                )
            values = _partition_values(table.metadata, file)
            changes = bool(self.descriptor.change_key)
            seen = SeenFile(
                name=ChangeFile(version, rows, file.file_path).name if changes else file.file_path,
                size=file.file_size_in_bytes,
                modified=None,
                records=file.record_count,
                columns=json.dumps(values) if values else None,
            )
            partition = 0 if changes else file_partition(seen.name, partitions)
            found.setdefault(partition, []).append(seen)
        return found

    def _check_columns(self, metadata: TableMetadata) -> None:
        mismatches = self._mismatches(metadata)
        if mismatches:
            raise StreamSystemError(f"{self._where}: {'; '.join(mismatches)}. Correct the stream's schema")

    def _mismatches(self, metadata: TableMetadata) -> list[str]:
        found = {
            column.name: (column_type(column.field_type), str(column.field_type)) for column in metadata.schema().fields
        }
        return [] if self.descriptor.schema is None else list(type_mismatches(self.descriptor.schema, found))


def _partition_values(metadata: TableMetadata, file: DataFile) -> dict[str, Any]:
    """Return the values of the columns that a file is a partition of, by the columns' ids, as JSON has them."""
    fields = metadata.specs()[file.spec_id].fields
    return {
        str(field.source_id): _as_json(file.partition[number])
        for number, field in enumerate(fields)
        if isinstance(field.transform, IdentityTransform)
    }


def _as_json(value: Any) -> Any:  # noqa: ANN401 - what a file of Avro has
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal | UUID) else value
