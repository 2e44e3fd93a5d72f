"""A table of Iceberg in a catalog: its versions, and the commits that append files and marks to one of them.

A mark is a property of the table, which is set in the commit of the snapshot that has the files: the summaries of
snapshots go when these expire. Commits name the snapshot that they follow, so the catalog takes one of each. They may
expire old ones, whose files stay: those of a table that is appended to are all in its newest snapshot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestEntry
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update.snapshot import ExpireSnapshots, _MergeAppendFiles
from pyiceberg.typedef import Record
from sqlalchemy.exc import IntegrityError

from streamapp_systems.file.text_values import format_text, parse_text
from streamapp_systems.iceberg.catalog import CatalogAccess, CommitRefusedError, TableCatalog
from streamapp_systems.iceberg.iceberg_layout import layout_mismatches, partition_names
from streamapp_systems.iceberg.iceberg_types import arrow_columns, stored_field
from streamapp_systems.iceberg.locations import location_of, place_of
from streamapp_systems.iceberg.rewritten_files import RewrittenFiles
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.tables import LiveFile, TableFile

_MARK = "streamapp.mark."
_DATA_PATH = "write.data.path"


class IcebergVersion:
    """A version of a table; see `TableVersion`."""

    keeps_partition_columns = True

    def __init__(self, catalog: CatalogAccess, table: Table, keep: int | None) -> None:
        """Take a table as the library has loaded it; `keep` as in `IcebergTable`."""
        self.table = table
        self._access = catalog
        self._keep = keep
        self._metadata = table.metadata
        path = self._metadata.properties.get(_DATA_PATH) or f"{self._metadata.location.rstrip('/')}/data"
        self._location = path.rstrip("/")

    @property
    def id(self) -> str:
        """See `TableVersion.id`."""
        return str(self._metadata.table_uuid)

    @cached_property
    def folder(self) -> Place:
        """See `TableVersion.folder`."""
        return place_of(self._location, self._access.root)

    @property
    def layout(self) -> object:
        """See `TableVersion.layout`."""
        return self.id, self._location, self._metadata.current_schema_id, self._metadata.default_spec_id

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """See `TableVersion.partition_columns`."""
        return partition_names(self._metadata)

    def stored(self, rows: pa.Table) -> pa.Table:
        """See `TableVersion.stored`."""
        known = self._metadata.schema().fields
        columns = [stored_field(column) for column in known if column.name in rows.column_names]
        return rows.select([column.name for column in columns]).cast(pa.schema(columns))

    def mismatches(self, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:
        """See `TableVersion.mismatches`."""
        return layout_mismatches(self._metadata, rows, folder_columns)

    def staged_mismatches(self, rows: pa.Schema) -> Iterator[str]:
        """See `TableVersion.staged_mismatches`."""
        return layout_mismatches(self._metadata, rows, self.partition_columns, staged=True)

    def mark(self, name: str) -> int | None:
        """See `TableVersion.mark`."""
        number = self._metadata.properties.get(f"{_MARK}{name}")
        return None if number is None else int(number)

    def count_rows(self) -> int:
        """See `TableVersion.count_rows`."""
        snapshot = self.table.current_snapshot()
        summary = None if snapshot is None else snapshot.summary
        return 0 if summary is None else int(summary.get("total-records") or 0)

    def has_snapshot(self, snapshot: int) -> bool:
        """Return whether the table has a snapshot of this id."""
        return self._metadata.snapshot_by_id(snapshot) is not None

    def append(self, files: Iterable[TableFile], marks: Mapping[str, int]) -> bool:
        """See `TableVersion.append`.

        The answer of a catalog may be lost after it has committed, and a request that is sent again then is refused: so
        whatever it says, the snapshot is looked for.
        """
        transaction = self.table.transaction()
        transaction.set_properties({f"{_MARK}{name}": str(number) for name, number in sorted(marks.items())})
        return self._commit(transaction, transaction.update_snapshot().merge_append(), files)

    @property
    def stored_columns(self) -> pa.Schema:
        """See `TableVersion.stored_columns`."""
        return pa.schema(map(stored_field, self._metadata.schema().fields))

    def live_files(self) -> Sequence[LiveFile]:
        """See `TableVersion.live_files`: those of today's partitions; none where rows are marked as deleted."""
        snapshot = self.table.current_snapshot()
        if snapshot is None or any(layout_mismatches(self._metadata, self.stored_columns, self.partition_columns)):
            return ()
        with self._access.explained(f"table {'.'.join(self.table.name())} can't be read"):
            manifests = [m for m in snapshot.manifests(self.table.io) if m.has_added_files() or m.has_existing_files()]
            if any(manifest.content is not ManifestContent.DATA for manifest in manifests):
                return ()
            entries = [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(self.table.io)]
        return [self._live_file(entry) for entry in entries if self._may_be_joined(entry.data_file)]

    def replace(self, old: Sequence[LiveFile], new: Sequence[TableFile]) -> bool:
        """See `TableVersion.replace`."""
        transaction = self.table.transaction()
        producer = RewrittenFiles(transaction, self.table.io)
        for file in old:
            assert isinstance(file.entry, DataFile)
            producer.delete_data_file(file.entry)
        return self._commit(transaction, producer, new)

    def _may_be_joined(self, file: DataFile) -> bool:
        return file.file_format == FileFormat.PARQUET and file.spec_id == self._metadata.default_spec_id

    def _live_file(self, entry: ManifestEntry) -> LiveFile:
        file, columns = entry.data_file, arrow_columns(self._metadata.schema())
        names = self.partition_columns
        values = [_text(file.partition[number], columns.field(name).type) for number, name in enumerate(names)]
        return LiveFile(
            path=file.file_path,
            place=place_of(file.file_path, self._access.root),
            partition=tuple(zip(names, values, strict=True)),
            size=file.file_size_in_bytes,
            added=entry.sequence_number or 0,
            entry=file,
        )

    def _commit(
        self, transaction: Transaction, producer: _MergeAppendFiles | RewrittenFiles, files: Iterable[TableFile]
    ) -> bool:
        """Commit a snapshot with more files, and expire old ones; return False if somebody else has come first."""
        snapshot = producer.snapshot_id
        try:
            with self._access.explained(f"table {'.'.join(self.table.name())} can't be written"):
                with producer:
                    for file in files:
                        producer.append_data_file(self._data_file(file))
                if self._keep is not None and (old := _expired(transaction.table_metadata, self._keep)):
                    ExpireSnapshots(transaction).by_ids(old).commit()
                transaction.commit_transaction()
        except CommitRefusedError:
            return self._has_committed(snapshot)
        except StreamSystemError:
            if not self._has_committed(snapshot):
                raise
        return True

    def sync(self) -> None:
        """See `TableVersion.sync`: whoever sets marks has made everything durable before the catalog has it."""

    def _has_committed(self, snapshot: int) -> bool:
        version = IcebergTable(self._access, ".".join(self.table.name())).load()
        return version is not None and version.has_snapshot(snapshot)

    def _data_file(self, file: TableFile) -> DataFile:
        schema = self._metadata.schema()
        columns = arrow_columns(schema)
        ids = parquet_path_to_id_mapping(schema)
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=file.footer,
            stats_columns=_known_bounds(compute_statistics_plan(schema, self._metadata.properties), file.footer, ids),
            parquet_column_mapping=ids,
        )
        values = [_value(file.partition_values[name], columns.field(name).type) for name in self.partition_columns]
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{self._location}/{file.path}",
            file_format=FileFormat.PARQUET,
            partition=Record(*values),
            file_size_in_bytes=file.size,
            sort_order_id=None,
            spec_id=self._metadata.default_spec_id,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )


class IcebergTable:
    """A table by its name, with its namespace before it: `sales.orders`; see `OutputTable`."""

    def __init__(self, catalog: CatalogAccess, name: str, keep: int | None = None) -> None:
        """Look at nothing yet; `keep` is how many milliseconds snapshots are kept: None: what is written expires none.

        They count from when another one has followed: who has read up to it before goes on from there.
        """
        self._access = catalog
        self._keep = keep
        self._name = tuple(name.split("."))
        self._catalog: TableCatalog | None = None
        self._loaded: IcebergVersion | None = None

    def explained(self, what: str) -> AbstractContextManager[None]:
        """Turn what the library raises in the block into messages; see `CatalogAccess.explained`."""
        return self._access.explained(what)

    def load(self) -> IcebergVersion | None:
        """See `OutputTable.load`."""
        self._catalog = self._catalog or self._access.open()
        if self._catalog is None:
            return None
        with self.explained(f"table {'.'.join(self._name)} can't be read"):
            try:
                known = None if self._loaded is None else self._loaded.table.metadata_location
                newer = self._catalog.load_newer(self._name, known)
                if newer is not None:
                    self._loaded = IcebergVersion(self._access, newer, self._keep)
            except NoSuchTableError:
                return None
        return self._loaded

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> IcebergVersion:
        """See `OutputTable.create`."""
        catalog = self._access.open(create=True)
        assert catalog is not None
        names = {name.lower(): name for name in columns.names}
        place = self._access.root / "/".join(self._name)
        with self.explained(f"table {'.'.join(self._name)} can't be created"):
            with suppress(NamespaceAlreadyExistsError, IntegrityError):
                catalog.create_namespace(self._name[:-1])
            with (
                suppress(TableAlreadyExistsError, CommitRefusedError),
                catalog.create_table_transaction(self._name, columns, location_of(place)) as made,
                made.update_spec() as spec,
            ):
                for column in partition_columns:
                    spec.add_identity(names.get(column.lower(), column))
        created = self.load()
        if created is None:
            raise StreamSystemError(f"table {'.'.join(self._name)} is gone again, right after it was created")
        return created


def _expired(metadata: TableMetadata, keep: int) -> list[int]:
    """Return the snapshots before the newest one that were followed by another more than `keep` milliseconds ago.

    Those that tags and branches name stay.
    """
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    named = {reference.snapshot_id for reference in metadata.refs.values()}
    expired: list[int] = []
    after = snapshots.get(metadata.current_snapshot_id or 0)
    limit = 0 if after is None else after.timestamp_ms - keep
    while after is not None and (snapshot := snapshots.get(after.parent_snapshot_id or 0)) is not None:
        if after.timestamp_ms < limit and snapshot.snapshot_id not in named:
            expired.append(snapshot.snapshot_id)
        after = snapshot
    return expired


def _known_bounds(
    plan: Mapping[int, StatisticsCollector], footer: pq.FileMetaData, ids: Mapping[str, int]
) -> dict[int, StatisticsCollector]:
    """Return what is kept of columns, without bounds of those whose years Python has not: below 1, or above 9999."""
    known = dict(plan)
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            column = footer.row_group(group).column(number)
            try:
                _ = column.statistics and (column.statistics.min, column.statistics.max)
            except (ValueError, OverflowError):
                found = ids[column.path_in_schema]
                known[found] = replace(known[found], mode=MetricsMode(MetricModeTypes.COUNTS))
            except pa.ArrowNotImplementedError:  # which the library passes by
                continue
    return known


def _value(text: str | None, kind: pa.DataType) -> object:
    """Return a value of a partition as Iceberg keeps it, of which texts are the folders' names: dates are days."""
    if text is None or pa.types.is_string(kind):
        return text
    found = parse_text(pa.array([text]), kind)
    return (found.cast(pa.int32()) if pa.types.is_date32(kind) else found)[0].as_py()


def _text(value: object, kind: pa.DataType) -> str | None:
    """Return the text of a value of a partition, of which `_value` makes it again."""
    if value is None or isinstance(value, str):
        return value
    found = pa.array([value], pa.int32()).cast(kind) if pa.types.is_date32(kind) else pa.array([value], kind)
    return str(format_text(found)[0].as_py())
