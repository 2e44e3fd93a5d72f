"""Systems: where streams live. Each is exactly one of the kinds that there are."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from streamapp_core.spec.base import Duration, Name, SpecModel, Text
from streamapp_core.spec.kafka_client_settings import check_setting
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_core.spec.table_systems import DeltaSystem, IcebergSystem, JournalFolder, ObjectStore
from streamapp_core.storage_urls import StorageUrl, parse_storage_url


class SystemKind(StrEnum):
    """The kinds of systems."""

    KAFKA = "kafka"
    LOG = "log"
    FILE = "file"
    FOLDER = "folder"
    DELTA = "delta"
    ICEBERG = "iceberg"
    POSTGRESQL = "postgresql"
    SPARK = "spark"

    @property
    def transactional(self) -> bool:
        """Whether several streams of the system can be written atomically."""
        return self in (SystemKind.KAFKA, SystemKind.LOG)

    @property
    def holds_files(self) -> bool:
        """Whether its streams are rows of files: they have no keys and no times beside their columns."""
        return self is SystemKind.FILE or self.grows

    @property
    def holds_tables(self) -> bool:
        """Whether its streams are tables, which have columns, versions and commits of their own."""
        return self in (SystemKind.DELTA, SystemKind.ICEBERG)

    @property
    def grows(self) -> bool:
        """Whether files come to its streams while they are read: these have no end, and partitions of their own."""
        return self in (SystemKind.FOLDER, SystemKind.SPARK) or self.holds_tables

    @property
    def has_versions(self) -> bool:
        """Whether a stream can be read as it is at one version, instead of being followed as it grows."""
        return self is SystemKind.FOLDER or self.holds_tables

    @property
    def appends_rows(self) -> bool:
        """Whether rows are only added to its outputs, which have columns that somebody else may know."""
        return self is SystemKind.SPARK or self.holds_tables

    @property
    def replaces_rows(self) -> bool:
        """Whether staged rows may take the place of those published before, so that each key's come in their order."""
        return self is SystemKind.POSTGRESQL


class KafkaAuth(SpecModel):
    """The login to the brokers: a secret by name, never its content."""

    secret_name: Annotated[Name, Field(description="The name of a Secret in the app's namespace.")]
    mechanism: Annotated[
        Annotated[str, Field(pattern=r"^[A-Z0-9-]{1,32}$", max_length=32)] | None,
        Field(description="A SASL mechanism: `SCRAM-SHA-512`. Without one, the secret has a client certificate."),
    ] = None


class SchemaRegistry(SpecModel):
    """The registry of the schemas of messages, with the API of Confluent's."""

    url: Annotated[
        str,
        Field(pattern=r"^https?://[^\s?#@]+$", max_length=1_024, description="Where it is: `https://registry:8081`."),
    ]
    secret_name: Annotated[
        Name | None,
        Field(description="A secret with `username` and `password`, `ca.crt`, or all three."),
    ] = None


class KafkaSystem(SpecModel):
    """A Kafka cluster."""

    bootstrap_servers: Annotated[Text, Field(description="Brokers to begin with: `kafka-0:9092,kafka-1:9092`.")]
    config: Annotated[
        dict[Annotated[str, AfterValidator(check_setting)], Annotated[str, Field(max_length=16_384)]],
        Field(max_length=100, description="Settings of the Kafka client, by their names in librdkafka."),
    ] = {}
    auth: KafkaAuth | None = None
    schema_registry: SchemaRegistry | None = None


class LogSystem(SpecModel):
    """The embedded log: one SQLite file on this machine."""

    path: Annotated[Text, Field(description="The file of the log, relative to the app's file.")]


class FileSystem(SpecModel):
    """A folder with bounded inputs (one partition per file) and outputs."""

    path: Annotated[
        Text,
        Field(
            description="The folder below which the streams' names are paths, on a laptop relative to the app's file; "
            "or, for outputs alone, `s3://bucket/folder`."
        ),
    ]
    store: ObjectStore | None = None
    commit_every: Annotated[
        Duration | None,
        Field(
            description="How often committed rows are published, joined into one file of each processor and folder; "
            "without it, each commit of the app publishes files."
        ),
    ] = None
    target_file_size: Annotated[
        Annotated[str, Field(pattern=r"^[1-9][0-9]*(k|Ki|M|Mi|G|Gi)$", max_length=16)] | None,
        Field(description="The size with which a file does not wait for `commitEvery`: `512Mi`; default: `128Mi`."),
    ] = None

    @model_validator(mode="after")
    def _size_of_joined_files(self) -> Self:
        if self.target_file_size is not None and self.commit_every is None:
            raise ValueError(
                "targetFileSize: each commit of the app publishes files, whatever their size; set `commitEvery`, too, "
                "to join those of several"
            )
        return self


class FolderSystem(SpecModel):
    """A folder with inputs whose files become more while the app runs."""

    path: Annotated[
        Text,
        Field(
            description="The folder below which the streams' names are paths, on a laptop relative to the app's file; "
            "or `s3://bucket/folder`."
        ),
    ]
    store: ObjectStore | None = None
    journal: JournalFolder = None


class PostgresqlSystem(SpecModel):
    """A database of PostgreSQL with tables that are written."""

    uri: Annotated[
        str,
        Field(
            pattern=r"^postgresql://[^\s?#@/]+/[^\s?#@/]+$",
            max_length=1_024,
            description="Where it is: `postgresql://host:5432/database`.",
        ),
    ]
    secret_name: Annotated[
        Name | None, Field(description="A secret with `username` and `password` for the database.")
    ] = None
    staging_schema: Annotated[
        str,
        Field(
            pattern=r"^[a-z_][a-z0-9_]*$",
            max_length=63,
            description="The schema in which rows wait for the app's commit, made where it is missing.",
        ),
    ] = "streamapp"


GrowingSystem = FolderSystem | DeltaSystem | IcebergSystem | SparkSystem
"""The systems whose streams become more while they are read."""


class SystemSpec(SpecModel):
    """One system; relative paths resolve from the folder of the YAML file."""

    kafka: KafkaSystem | None = None
    log: LogSystem | None = None
    file: FileSystem | None = None
    folder: FolderSystem | None = None
    delta: DeltaSystem | None = None
    iceberg: IcebergSystem | None = None
    postgresql: PostgresqlSystem | None = None
    spark: SparkSystem | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(getattr(self, kind.value) is not None for kind in SystemKind) != 1:
            raise ValueError(
                "a system is exactly one of kafka, log, file, folder, delta, iceberg, postgresql and spark"
            )
        return self

    @property
    def schema_registry(self) -> SchemaRegistry | None:
        """The registry that has the schemas of this system's messages, if there is one."""
        return None if self.kafka is None else self.kafka.schema_registry

    @property
    def stages_outputs(self) -> bool:
        """Whether outputs of the system are staged before they are published."""
        return any(kind is not None for kind in (self.file, self.tables, self.postgresql, self.spark))

    @property
    def secrets(self) -> frozenset[str]:
        """The names of the secrets that the system's clients read."""
        auth = None if self.kafka is None else self.kafka.auth
        catalog = None if self.iceberg is None else self.iceberg.catalog
        users = (auth, self.schema_registry, self.store, catalog, self.postgresql, self.spark)
        return frozenset(user.secret_name for user in users if user is not None and user.secret_name is not None)

    @property
    def store(self) -> ObjectStore | None:
        """The way to the store that the system's path names, where the spec says it."""
        found = self.file or self.growing
        return None if found is None else found.store

    @property
    def growing(self) -> GrowingSystem | None:
        """The folder, tables or staged rows that become more while the app runs; None of other systems."""
        return self.folder or self.tables or self.spark

    @property
    def tables(self) -> DeltaSystem | IcebergSystem | None:
        """The tables of the system; None of systems that have none."""
        return self.delta or self.iceberg

    @property
    def storage(self) -> str | None:
        """The place of its files or tables, as text: the path, and the catalog where there is one, or the database."""
        if self.postgresql is not None:
            return f"{self.postgresql.uri} (staged in {self.postgresql.staging_schema})"
        if self.iceberg is None:
            return self.path
        catalog = self.iceberg.catalog
        return f"{self.iceberg.path} (catalog {catalog.warehouse or catalog.name} of {catalog.uri})"

    @property
    def url(self) -> StorageUrl | None:
        """The system's path as a URL; None if it has none, or it is a folder."""
        return None if self.path is None else parse_storage_url(self.path)

    @property
    def path(self) -> str | None:
        """The path of a system of files or tables, or of the log."""
        found = self.file or self.growing or self.log
        return None if found is None else found.path

    def with_client_name(self, name: str) -> Self:
        """Return the system with a name for its Kafka clients and their consumer group, where `config` has none."""
        if self.kafka is None:
            return self
        config = {"client.id": name, "group.id": name, **self.kafka.config}
        return self.model_copy(update={"kafka": self.kafka.model_copy(update={"config": config})})

    @property
    def kind(self) -> SystemKind:
        """The kind of this system."""
        return next(kind for kind in SystemKind if getattr(self, kind.value) is not None)
