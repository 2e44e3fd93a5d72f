"""A table of Delta, in a folder or in a store: its versions, and the commits that add files and marks to one of them.

A mark is Delta's `txn` action. The library accepts one that is lower than the table's.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from streamapp_systems.delta.compaction import compaction_actions
from streamapp_systems.delta.table_layout import TableLayout, layout_mismatches, staged_mismatches
from streamapp_systems.file.output_folder import create_file, sync_folder
from streamapp_systems.folder.delta_log import DataFile, DeltaLog
from streamapp_systems.objects import ObjectPath, Place, explained_store_error
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.tables import LiveFile, TableFile

_LOG = "_delta_log"
_CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_DEFAULT_INTERVAL = "100"
_RECENT = 100
"""Versions: older ones than that are on the disk, since systems write what is cached within half a minute."""


class DeltaVersion:
    """A version of a table; see `TableVersion`."""

    keeps_partition_columns = False

    def __init__(self, folder: Place, table: DeltaTable) -> None:
        """Take a table as the library has loaded it."""
        self.folder = folder
        self._table = table

    @property
    def id(self) -> str:
        """See `TableVersion.id`."""
        return str(self._table.metadata().id)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """See `TableVersion.partition_columns`."""
        return tuple(self._table.metadata().partition_columns)

    def stored(self, rows: pa.Table) -> pa.Table:
        """See `TableVersion.stored`."""
        return rows

    def mismatches(self, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:
        """See `TableVersion.mismatches`."""
        return layout_mismatches(self.layout, rows, folder_columns)

    def staged_mismatches(self, rows: pa.Schema) -> Iterator[str]:
        """See `TableVersion.staged_mismatches`."""
        return staged_mismatches(self.layout, rows)

    @cached_property
    def layout(self) -> TableLayout:
        """The layout of the table."""
        metadata, protocol = self._table.metadata(), self._table.protocol()
        return TableLayout(
            columns=pa.schema(self._table.schema().to_arrow()),
            partition_columns=tuple(metadata.partition_columns),
            configuration=metadata.configuration,
            writer_features=frozenset(protocol.writer_features or ()),
        )

    def mark(self, name: str) -> int | None:
        """See `TableVersion.mark`."""
        number = self._table.transaction_version(name)
        return None if number is None else int(number)

    def count_rows(self) -> int:
        """See `TableVersion.count_rows`."""
        return int(self._table.count())

    def append(self, files: Iterable[TableFile], marks: Mapping[str, int]) -> bool:
        """See `TableVersion.append`.

        The library may fail after it has committed, as when there is no room for the checkpoint that follows, or when
        the store's answer is lost, or is to the second try of a request whose first was taken.

        Raises:
            StreamSystemError: the table can't be written.
        """
        added = tuple(files)
        version = self._table.version() + 1
        written = self._log(version)
        properties = CommitProperties(
            app_transactions=[Transaction(name, number) for name, number in sorted(marks.items())],
            max_commit_retries=0,
        )
        schema, partition_columns = self._table.schema(), list(self._table.metadata().partition_columns)
        try:
            self._table.create_write_transaction(
                [_action(file) for file in added], "append", schema, partition_columns, commit_properties=properties
            )
        except (DeltaError, OSError) as error:
            if not written.exists():
                raise table_error(self.folder, "written", error) from error
            if not _adds(written, added):
                self._sync([version])
                return False
        self._sync([version])
        return True

    @property
    def stored_columns(self) -> pa.Schema:
        """See `TableVersion.stored_columns`."""
        return pa.schema([c.remove_metadata() for c in self.layout.columns if c.name not in self.partition_columns])

    def live_files(self) -> Sequence[LiveFile]:
        """See `TableVersion.live_files`; none of a table whose rules joined files might not keep."""
        if any(layout_mismatches(self.layout, self.layout.columns, self.partition_columns)):
            return ()
        snapshot = DeltaLog(self.folder).snapshot(self._table.version())
        return [
            LiveFile(
                path=file.path,
                place=self.folder / file.path,
                partition=tuple((name, file.values.get(name)) for name in self.partition_columns),
                size=file.size,
                added=file.modified,
                entry=file,
            )
            for file in snapshot.files
            if not file.deletes_rows
        ]

    def replace(self, old: Sequence[LiveFile], new: Sequence[TableFile]) -> bool:
        """See `TableVersion.replace`.

        The library has no commit of given files that changes no rows, so this writes one, as an `OPTIMIZE` does.

        Raises:
            StreamSystemError: the table can't be written.
        """
        version = self._table.version() + 1
        entries = [file.entry for file in old if isinstance(file.entry, DataFile)]
        actions = compaction_actions(entries, new, version - 1, time.time_ns() // 1_000_000)
        if not create_file(self._log(version), "\n".join(map(json.dumps, actions)).encode()):
            return False
        self._sync([version])
        interval = int(self.layout.configuration.get(_CHECKPOINT_INTERVAL, _DEFAULT_INTERVAL))
        if (version + 1) % interval == 0:  # as the library does
            with suppress(DeltaError, OSError):  # the commits are there; others make one later
                DeltaTable(str(self.folder), storage_options=library_options(self.folder)).create_checkpoint()
        return True

    def sync(self) -> None:
        """See `TableVersion.sync`."""
        version = self._table.version()
        self._sync(range(max(version - _RECENT, 0), version + 1))

    def _log(self, version: int) -> Place:
        return self.folder / _LOG / f"{version:020}.json"

    def _sync(self, versions: Iterable[int]) -> None:
        """Make versions durable, with the checkpoints that readers begin with: what they were made of is removed."""
        folder = self.folder / _LOG
        if isinstance(folder, ObjectPath):
            return
        files: list[Place] = [folder / "_last_checkpoint"]
        for version in versions:
            files += [self._log(version), folder / f"{version:020}.checkpoint.parquet"]
        for path in files:
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        sync_folder(folder)


class DeltaTableFolder:
    """The folder of a table; see `OutputTable`."""

    def __init__(self, folder: Place) -> None:
        """Look at nothing yet."""
        self._folder = folder

    def load(self) -> DeltaVersion | None:
        """Load the newest version; None: there is no table.

        Raises:
            StreamSystemError: it can't be read.
        """
        if not (self._folder / _LOG).is_dir():
            return None
        try:
            return DeltaVersion(
                self._folder, DeltaTable(str(self._folder), storage_options=library_options(self._folder))
            )
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise table_error(self._folder, "read", error) from error

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> DeltaVersion:
        """Create the table if there is none, and load it. Partition columns are found whatever their case.

        It is tried once: the library would write the creation as the next version of a table that another process has
        created meanwhile, with another id and perhaps other columns.

        Raises:
            StreamSystemError: it can't be created.
        """
        names = {name.lower(): name for name in columns.names}
        partitioned = [names.get(name.lower(), name) for name in partition_columns]
        try:
            DeltaTable.create(
                str(self._folder),
                columns,
                mode="ignore",
                partition_by=partitioned,
                commit_properties=CommitProperties(max_commit_retries=0),
                storage_options=library_options(self._folder),
            )
        except (DeltaError, OSError) as error:
            if self.load() is None:
                raise table_error(self._folder, "created", error) from error
        if not isinstance(self._folder, ObjectPath):
            for folder in (self._folder / _LOG, self._folder, self._folder.parent):
                sync_folder(folder)
        created = self.load()
        if created is None:
            raise StreamSystemError(f"table {self._folder} is gone again, right after it was created")
        return created


def library_options(folder: Place) -> dict[str, str] | None:
    """Return the options by which the library opens a table: None of one on a disk."""
    return folder.bucket.storage_options if isinstance(folder, ObjectPath) else None


def table_error(folder: Place, done: str, error: Exception) -> StreamSystemError:
    """Return what the library's error means: in a store of objects, that the store is away, or refuses."""
    what = f"table {folder} can't be {done}"
    if isinstance(folder, ObjectPath):
        if isinstance(error, CommitFailedError):
            return Unavailable(f"{what} at the moment: {folder.bucket.where} refused a version that nobody has written")
        return explained_store_error(what, folder.bucket.where, error)
    return StreamSystemError(f"{what}: {error}")


def _action(file: TableFile) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict(file.partition_values),
        modification_time=file.modified,
        data_change=True,
        stats=json.dumps({"numRecords": file.rows}),
    )


def _adds(log: Place, files: Iterable[TableFile]) -> bool:
    """Return whether a version adds one of these files: of a name, there is one ever."""
    actions = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    paths = {unquote(action["add"]["path"]) for action in actions if "add" in action}
    return any(file.path in paths for file in files)
