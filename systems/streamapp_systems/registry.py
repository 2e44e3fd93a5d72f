"""Opens systems by their kind: the one place that knows which kinds there are."""

import math
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamapp_core.deployment.memory_quantities import count_bytes
from streamapp_core.spec.systems import FileSystem, SystemSpec
from streamapp_core.spec.table_systems import IcebergSystem
from streamapp_systems.file import FileAdmin, FileConsumer, FileOutput, Rolling
from streamapp_systems.folder import (
    FolderAdmin,
    FolderConsumer,
    GrowingTable,
    OpenStreams,
    growing_folders,
    growing_generations,
    growing_tables,
    journals_of,
    open_version,
)
from streamapp_systems.kafka import (
    Cluster,
    KafkaAdmin,
    KafkaConsumer,
    KafkaProducer,
    SchemaRegistryClient,
    local_cluster,
    local_schema_registry,
)
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.objects import Place, open_place
from streamapp_systems.outgoing import OutgoingGenerations, outgoing_folder
from streamapp_systems.protocols import (
    Admin,
    Consumer,
    PartOwner,
    Producer,
    StagedOutput,
    StreamDescriptor,
    StreamSystemError,
    TransactionalAdmin,
    TransactionOwner,
)
from streamapp_systems.secret_reader import LocalSecrets
from streamapp_systems.tables import FileJoiner, OpenAppended, OpenTables, TableOutput, WrittenTable

if TYPE_CHECKING:
    from streamapp_systems.delta import DeltaVacuum
    from streamapp_systems.iceberg import CatalogAccess, GrowingIceberg
    from streamapp_systems.postgresql import PostgresqlDatabase, StagedRows

_SECOND = 1_000
_FILE_SIZE = 128 << 20
"""Bytes of a file that is joined of parts, where the spec says nothing."""


def _nothing_to_confirm() -> None:
    return None


class Systems(Protocol):
    """Opens the systems of an app; `name` is the system's name in the spec."""

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the spec resolve from: that of the app's YAML file."""
        ...

    def place(self, system: SystemSpec) -> Place:
        """Return the folder of a system of files or tables, on a disk or in a store of objects.

        Raises:
            StreamSystemError: the store has no such path, or its secret is not there.
        """
        ...

    def open_admin(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> Admin:
        """Open a system's metadata; a log that does not exist holds nothing until it is written to.

        Brokers may be silent for `timeout` seconds at the most.

        Raises:
            StreamSystemError: the system can't be opened.
        """
        ...

    def open_transactional_admin(self, name: str, system: SystemSpec) -> TransactionalAdmin:
        """Open the metadata of a system that holds intermediate streams and changelogs.

        Raises:
            StreamSystemError: the system can't be opened, or is not transactional.
        """
        ...

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """Open a reader of these streams of a system.

        Raises:
            StreamSystemError: the system can't be opened.
        """
        ...

    def open_producer(
        self,
        name: str,
        system: SystemSpec,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        *,
        confirm_current: Callable[[], object] = _nothing_to_confirm,
    ) -> Producer:
        """Open a writer of these streams of a transactional system; it takes over the owner's id.

        Kafka lets the last one have it, whatever its epoch: make sure afterwards that yours is the current one. The
        writer may have to take it over again between two transactions, and calls `confirm_current` after that, which
        raises if another owner has been started.

        Raises:
            Fenced: a later epoch has the id (log).
            StreamSystemError: the system can't be opened, or is not transactional (see `open_output`).
        """
        ...

    def open_output(
        self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor], owner: PartOwner
    ) -> StagedOutput:
        """Open a writer of outputs that are files, or tables of any kind.

        Raises:
            StreamSystemError: the system has neither.
        """
        ...

    def column_mismatches(self, system: SystemSpec, table: StreamDescriptor) -> list[str]:
        """Return why the columns of a stream can't be read of its table as it is now, each reason with what to do.

        Raises:
            StreamSystemError: there is no table, or it can't be read.
        """
        ...

    def latest_version(self, system: SystemSpec, stream: StreamDescriptor) -> str:
        """Return the version that a table or folder has now (`WholeVersion.version`).

        Raises:
            StreamSystemError: there is none, or it can't be read.
        """
        ...

    def open_written_table(self, system: SystemSpec, stream: StreamDescriptor, app: str) -> WrittenTable:
        """Open the table of an output of an app (`PartOwner.app`), whether it is there or not.

        Raises:
            StreamSystemError: what keeps it can't be opened.
        """
        ...

    def open_file_joiner(self, system: SystemSpec, table: StreamDescriptor) -> FileJoiner:
        """Open what joins the small files of an output that is a table of files.

        Raises:
            StreamSystemError: what keeps it can't be opened.
        """
        ...

    def open_vacuum(self, system: SystemSpec, table: StreamDescriptor) -> "DeltaVacuum":
        """Open what finds and removes files that an output, a table of Delta, no longer needs.

        Raises:
            StreamSystemError: the store of the table can't be opened.
        """
        ...

    def open_staged_rows(self, system: SystemSpec, app: str) -> "StagedRows":
        """Open what an app (`PartOwner.app`) has staged in a database of tables.

        Raises:
            StreamSystemError: the login to it is not there.
        """
        ...

    def open_schema_registry(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> SchemaRegistryClient:
        """Open the registry that has the schemas of a system's messages; it may be silent for `timeout` seconds.

        Raises:
            StreamSystemError: the system has none, or its secret is not there.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSystems:
    """The systems as this process finds them; `environment` says where its credentials are."""

    folder: Path
    environment: Mapping[str, str]

    def place(self, system: SystemSpec) -> Place:
        """See `Systems.place`."""
        assert system.path is not None
        return open_place(self.folder, system.path, system.store, self.environment, LocalSecrets(self.environment))

    def open_admin(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> Admin:
        """See `Systems.open_admin`."""
        if system.file is not None:
            return FileAdmin(self.folder / system.file.path)
        if (growing := self._growing(system)) is not None:
            return FolderAdmin(growing)
        if (cluster := self._cluster(name, system)) is not None:
            return KafkaAdmin(replace(cluster, timeout=min(cluster.timeout, timeout)))
        return self.open_transactional_admin(name, system)

    def open_transactional_admin(self, name: str, system: SystemSpec) -> TransactionalAdmin:
        """See `Systems.open_transactional_admin`."""
        if (cluster := self._cluster(name, system)) is not None:
            return KafkaAdmin(cluster)
        return LogAdmin(self._log_path(name, system))

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """See `Systems.open_consumer`."""
        if system.file is not None:
            return FileConsumer(self.folder / system.file.path, streams)
        if (growing := self._growing(system)) is not None:
            return FolderConsumer(growing, streams)
        if (cluster := self._cluster(name, system)) is not None:
            return KafkaConsumer(cluster, streams)
        return LogConsumer(self._log_path(name, system), streams)

    def open_producer(
        self,
        name: str,
        system: SystemSpec,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        *,
        confirm_current: Callable[[], object] = _nothing_to_confirm,
    ) -> Producer:
        """See `Systems.open_producer`."""
        if (cluster := self._cluster(name, system)) is not None:
            return KafkaProducer(cluster, streams, owner, confirm_current)
        return LogProducer(self._log_path(name, system), streams, owner)

    def open_output(
        self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor], owner: PartOwner
    ) -> StagedOutput:
        """See `Systems.open_output`."""
        tables = system.tables or system.spark
        if tables is not None:
            root, seconds = self.place(system), tables.commit_every / _SECOND
            return TableOutput(root, self._open_staged(system, owner.app), streams, owner, seconds)
        if system.postgresql is not None:
            from streamapp_systems.postgresql import DatabaseOutput

            return DatabaseOutput(self._postgresql(system), streams, owner)
        if system.file is None:
            raise StreamSystemError(f"system {name} is {system.kind}: it is written by a producer, not as files")
        # No name comes twice, also if earlier writers are forgotten: what has it is taken for published.
        writer = f"{owner.writer}-{owner.opened}"
        return FileOutput(self.place(system), streams, writer, _rolling(system.file))

    def column_mismatches(self, system: SystemSpec, table: StreamDescriptor) -> list[str]:
        """See `Systems.column_mismatches`."""
        root = self.place(system)
        if system.iceberg is None:
            return GrowingTable(root, self.folder, table).mismatches()
        return self._open_iceberg(system.iceberg, root, lambda _: self.folder)(table).mismatches()

    def latest_version(self, system: SystemSpec, stream: StreamDescriptor) -> str:
        """See `Systems.latest_version`."""
        growing = self._growing(system)
        assert growing is not None, "other systems have no versions"
        return open_version(growing, stream).latest_version()

    def open_written_table(self, system: SystemSpec, stream: StreamDescriptor, app: str) -> WrittenTable:
        """See `Systems.open_written_table`."""
        if system.spark is not None:
            return OutgoingGenerations(outgoing_folder(self.place(system), app, stream.address), stream.system)
        if system.postgresql is None:
            return self._open_tables(system)(stream.address)
        from streamapp_systems.postgresql import DatabaseTable

        return DatabaseTable(self._postgresql(system), stream)

    def open_file_joiner(self, system: SystemSpec, table: StreamDescriptor) -> FileJoiner:
        """See `Systems.open_file_joiner`."""
        names = (f"part-joined-{uuid.uuid4().hex}" for _ in count())
        return FileJoiner(self._open_tables(system)(table.address), names)

    def open_vacuum(self, system: SystemSpec, table: StreamDescriptor) -> "DeltaVacuum":
        """See `Systems.open_vacuum`."""
        from streamapp_systems.delta import DeltaVacuum

        return DeltaVacuum(self.place(system) / table.address)

    def open_staged_rows(self, system: SystemSpec, app: str) -> "StagedRows":
        """See `Systems.open_staged_rows`."""
        from streamapp_systems.postgresql import StagedRows

        return StagedRows(database=self._postgresql(system), app=app)

    def _open_staged(self, system: SystemSpec, app: str) -> OpenAppended:
        """Return what opens that to which staged rows are added: tables, or generations that Spark writes."""
        if system.spark is None:
            return self._open_tables(system)
        root = self.place(system)
        return lambda address: OutgoingGenerations(outgoing_folder(root, app, address))

    def _open_tables(self, system: SystemSpec) -> OpenTables:
        root = self.place(system)
        if system.iceberg is not None:
            from streamapp_systems.iceberg import IcebergTable

            catalog = self._catalog(system.iceberg, root)
            keep = system.iceberg.keep_snapshots
            return lambda address: IcebergTable(catalog, address, keep)
        from streamapp_systems.delta import DeltaTableFolder

        return lambda address: DeltaTableFolder(root / address)

    def open_schema_registry(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> SchemaRegistryClient:
        """See `Systems.open_schema_registry`."""
        registry = system.schema_registry
        if registry is None:
            raise StreamSystemError(f"system {name} has no schema registry: add it to spec.systems.{name}.kafka")
        return local_schema_registry(name, registry, self.environment, timeout)

    def _cluster(self, name: str, system: SystemSpec) -> Cluster | None:
        return None if system.kafka is None else local_cluster(name, system.kafka, self.environment)

    def _growing(self, system: SystemSpec) -> OpenStreams | None:
        """Return what opens the streams of a system whose files become more; None of other systems."""
        found = system.growing
        if found is None:
            return None
        journals = None if found.journal is None else self.folder / found.journal
        root = self.place(system)
        if system.iceberg is not None:
            return self._open_iceberg(system.iceberg, root, lambda stream: journals_of(root, journals, stream))
        if system.spark is not None:
            return growing_generations(root, journals)
        return (growing_folders if system.delta is None else growing_tables)(root, journals)

    def _open_iceberg(
        self, system: IcebergSystem, root: Place, journals: Callable[[StreamDescriptor], Path]
    ) -> "Callable[[StreamDescriptor], GrowingIceberg]":
        from streamapp_systems.iceberg import GrowingIceberg, IcebergTable

        catalog = self._catalog(system, root)
        return lambda stream: GrowingIceberg(IcebergTable(catalog, stream.address), root, journals(stream), stream)

    def _catalog(self, system: IcebergSystem, root: Place) -> "CatalogAccess":
        from streamapp_systems.iceberg import catalog_database, catalog_service

        if system.catalog.is_service:
            return catalog_service(system.catalog, root, LocalSecrets(self.environment), self.environment)
        return catalog_database(system.catalog, self.folder, root, LocalSecrets(self.environment))

    def _postgresql(self, system: SystemSpec) -> "PostgresqlDatabase":
        from streamapp_systems.postgresql import open_database

        assert system.postgresql is not None
        return open_database(system.postgresql, LocalSecrets(self.environment))

    def _log_path(self, name: str, system: SystemSpec) -> Path:
        if system.log is not None:
            return self.folder / system.log.path
        raise StreamSystemError(
            f"system {name} holds files or tables: they have no transactions, so they are written as outputs"
        )


def _rolling(system: FileSystem) -> Rolling | None:
    """Return when the parts of outputs are joined; None: never."""
    if system.commit_every is None:
        return None
    size = _FILE_SIZE if system.target_file_size is None else count_bytes(system.target_file_size)
    return Rolling(seconds=system.commit_every / _SECOND, size=size)


def local_systems(folder: Path) -> LocalSystems:
    """Return the systems as this process finds them; relative paths of the spec resolve from `folder`."""
    return LocalSystems(folder=folder, environment=dict(os.environ))
