"""Streams: named sequences of rows, read or written by the app, or filling one of its tables."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from streamapp_core.spec.base import (
    ColumnName,
    Duration,
    KeyColumns,
    Moment,
    Name,
    PartitionCount,
    SchemaText,
    SpecModel,
    Text,
    key_columns,
)


class StreamFormat(StrEnum):
    """The format of the rows of a stream."""

    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    CSV = "csv"
    PARQUET = "parquet"
    TEXT = "text"
    RAW = "raw"
    ARROW = "arrow"


class StreamChanges(StrEnum):
    """The meaning of the rows of a stream: events that stay, or the newest values of keys."""

    APPEND = "append"
    UPSERT = "upsert"
    DEBEZIUM = "debezium"
    FINAL = "final"
    LOG = "log"

    @property
    def is_read(self) -> bool:
        """Whether it says that records which are read are changes."""
        return self in (StreamChanges.UPSERT, StreamChanges.DEBEZIUM)


CHANGE_COLUMN = "__op"
"""The column of files and histories that says whether a row is the newest of its key (`u`) or deletes it (`d`)."""


class Partitioner(StrEnum):
    """The way keys are spread over partitions; murmur2 is that of Kafka's Java producers."""

    MURMUR2 = "murmur2"


class KeyFormat(StrEnum):
    """The encoding of keys before they are hashed: text, Java's binary numbers, or records of Avro."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    AVRO = "avro"


class StartFrom(StrEnum):
    """The start position of a run without checkpoint."""

    EARLIEST = "earliest"
    LATEST = "latest"


class RecordTime(StrEnum):
    """The time of the records that are written to a stream of Kafka or a log."""

    EVENT_TIME = "eventTime"
    PROCESSING_TIME = "processingTime"


class JsonTimestamps(StrEnum):
    """The form of timestamps in JSON: text in ISO 8601, or whole numbers since 1970 in UTC."""

    TEXT = "text"
    SECONDS = "seconds"
    MILLIS = "millis"
    MICROS = "micros"


class JsonOptions(SpecModel):
    """The layout of JSON objects."""

    timestamps: Annotated[
        JsonTimestamps, Field(description="Timestamps as text in ISO 8601, or as whole numbers since 1970.")
    ] = JsonTimestamps.TEXT
    fields: Annotated[
        dict[ColumnName, Annotated[str, Field(max_length=255)]],
        Field(max_length=1_000, description="The fields that columns stand in, by column; default: the same name."),
    ] = {}

    def field_of(self, column: str) -> str:
        """Return the field of an object that a column stands in."""
        return self.fields.get(column, column)


PLAIN_JSON = JsonOptions()
"""Objects of the default layout."""


class CsvOptions(SpecModel):
    """The dialect of CSV, of files and messages."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="What stands between values.")] = ","
    null_value: Annotated[str, Field(max_length=64, description="The text that means null.")] = ""
    header: Annotated[bool, Field(description="Whether the first line of a file has the names of the columns.")] = True


_SCHEMA_FILE = (
    "The file that `schema` is the text of, relative to the app's file. The command line reads it; a resource for "
    "Kubernetes has the text: `streamapp bundle`."
)


class AvroOptions(SpecModel):
    """The schema of records of Avro."""

    record_schema: Annotated[
        str | None,
        Field(
            alias="schema",
            max_length=65_536,
            description="The schema that records were or will be written with, as JSON; without one, a registry has "
            "that of what is read, and columns make that of what is written.",
        ),
    ] = None
    schema_file: Annotated[Text | None, Field(description=_SCHEMA_FILE)] = None
    record_name: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$",
            max_length=255,
            description="The name of the records that are written: `com.shop.Order`; default: that of the topic.",
        ),
    ] = None


class ProtobufOptions(SpecModel):
    """The messages of Protobuf that values are."""

    message_schema: Annotated[
        str | None,
        Field(
            alias="schema",
            max_length=65_536,
            description="The text of the `.proto` file that has the message; without one, a registry has it.",
        ),
    ] = None
    schema_file: Annotated[Text | None, Field(description=_SCHEMA_FILE)] = None
    imports: Annotated[
        dict[Annotated[str, Field(max_length=255)], Annotated[str, Field(max_length=65_536)]],
        Field(max_length=50, description="The texts of the files that it imports, by the names that it imports."),
    ] = {}
    message: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$",
            max_length=255,
            description="The name of the messages: `com.shop.Order`; default: of what is read the only one of its "
            "file, of what is written that of the topic.",
        ),
    ] = None


_ENVELOPE_PATH = r"^(op|ts_(ms|us|ns)|source[.][A-Za-z_][A-Za-z0-9_]*)$"


def _in_envelope(path: str) -> str:
    if re.fullmatch(_ENVELOPE_PATH, path) is None:
        raise ValueError(
            f"`{path}` is no place in an envelope beside the row: there are op, ts_ms, ts_us, ts_ns, and the fields of "
            "the source, such as source.lsn"
        )
    return path


EnvelopePath = Annotated[
    str, Field(max_length=255, json_schema_extra={"pattern": _ENVELOPE_PATH}), AfterValidator(_in_envelope)
]
"""A place in an envelope of Debezium."""


class DebeziumOptions(SpecModel):
    """The columns that are no columns of a table, but of the changes to it."""

    columns: Annotated[
        dict[ColumnName, EnvelopePath],
        Field(
            max_length=100,
            description="The columns that stand beside the row in Debezium's envelope, and where: `op`, `ts_ms` or "
            "`source.lsn`.",
        ),
    ] = {}


class EventTime(SpecModel):
    """The place of a row's event time, and how late rows may come."""

    column: Annotated[ColumnName, Field(description="A column, or a field of structs: `bid.at`.")]
    or_else: Annotated[
        tuple[ColumnName, ...],
        Field(max_length=100, description="Where that is null: the first of these columns or fields that is not."),
    ] = ()
    max_out_of_orderness: Duration = "0ms"  # type: ignore[assignment]
    idle_timeout: Duration | None = None
    max_ahead: Annotated[
        Duration | None,
        Field(
            description="By how much it may be later than its record's own time; a row that is later is a bad record."
        ),
    ] = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns and fields of structs of which the first that is not null is the event time."""
        return (self.column, *self.or_else)


_PARTITION = r"^(0|[1-9][0-9]{0,4})$"


def _partition(number: str) -> str:
    if re.fullmatch(_PARTITION, number) is None:
        raise ValueError(f"`{number}` is no partition; write its number, the first is 0")
    return number


Offset = Annotated[int, Field(ge=0, le=9_007_199_254_740_991)]
Offsets = Annotated[
    dict[Annotated[str, Field(max_length=5), AfterValidator(_partition)], Offset], Field(max_length=10_000)
]
"""Offsets by the numbers of partitions, which are texts in YAML: `{"0": 17}`."""


class StreamSpec(SpecModel):
    """A declared stream."""

    system: Annotated[Name, Field(description="Where it is kept: one of spec.systems.")]
    name: Annotated[
        Text | None, Field(description="Its topic or path in the system; default: the name it is declared by.")
    ] = None
    stream_schema: Annotated[SchemaText | None, Field(alias="schema")] = None
    format: StreamFormat = StreamFormat.JSON
    key: KeyColumns | None = None
    changes: Annotated[
        StreamChanges,
        Field(
            description="What is read: events that stay (`append`), the newest rows of keys (`upsert`), where a "
            "record without a value deletes its key, or the changes of a table as Debezium writes them (`debezium`). "
            "Of what is written: only the newest rows, once the app has ended (`final`), or a row for each change, "
            "also for deletions (`log`)."
        ),
    ] = StreamChanges.APPEND
    partitioned: Annotated[
        bool, Field(description="Whether all rows of a key are in one file; says nothing of other systems.")
    ] = False
    key_format: Annotated[
        KeyFormat,
        Field(
            description="What the keys of records are: text, numbers as Java writes them (`int`, `long`), or records "
            "of Avro whose schema a registry has (`avro`)."
        ),
    ] = KeyFormat.STRING
    partitioner: Partitioner = Partitioner.MURMUR2
    event_time: EventTime | None = None
    record_time: Annotated[
        RecordTime,
        Field(description="The time of the records that the app writes: the event times of rows, or when it writes."),
    ] = RecordTime.EVENT_TIME
    start_from: StartFrom = StartFrom.EARLIEST
    starting_timestamp: Annotated[
        Moment | None,
        Field(
            description="Where a run begins to read each partition: at its first record with this time or a later one, "
            "by the records' own times: `2026-01-01T00:00:00Z`."
        ),
    ] = None
    starting_offsets: Annotated[
        Offsets, Field(description='Where a run begins to read these partitions: `{"0": 17}`; the others as without.')
    ] = {}
    bounded: Annotated[
        bool,
        Field(
            description="Whether the stream has an end. A table or folder that is a side input is then read as it is "
            "at one version."
        ),
    ] = False
    ending_timestamp: Annotated[
        Moment | None,
        Field(
            description="Where a bounded stream ends: before the first record of each partition with this time or a "
            "later one; default: where it ends when the run begins."
        ),
    ] = None
    ending_offsets: Annotated[
        Offsets,
        Field(description="Where these partitions of a bounded stream end: before the records of these offsets."),
    ] = {}
    broadcast: Annotated[bool, Field(description="Whether every task reads all of it.")] = False
    control_messages: Annotated[
        bool, Field(description="Whether it is an intermediate stream of another app, with watermarks in it.")
    ] = False
    partitions: Annotated[
        PartitionCount | None, Field(description="With how many partitions the app makes it where it is missing.")
    ] = None
    folder_columns: Annotated[
        tuple[ColumnName, ...],
        Field(
            max_length=20,
            description="Of files: the columns that are folders in their paths, in their order, as in Hive: "
            "`dt=2024-05-01/hm=09%3A05/`. The files don't have them.",
        ),
    ] = ()
    starting_version: Annotated[
        Annotated[int, Field(ge=0, le=9_007_199_254_740_991)] | None,
        Field(
            description="Of a table that is read: the first version whose rows are read, of Iceberg a snapshot's "
            "sequence number; default: the table as it is when it is first seen."
        ),
    ] = None
    csv: CsvOptions = CsvOptions()
    json_options: Annotated[JsonOptions, Field(alias="json")] = JsonOptions()
    avro: AvroOptions = AvroOptions()
    protobuf: ProtobufOptions = ProtobufOptions()
    debezium: DebeziumOptions = DebeziumOptions()

    @property
    def starts_in_the_middle(self) -> bool:
        """Whether it names a time or offsets to begin at."""
        return self.starting_timestamp is not None or bool(self.starting_offsets)

    @property
    def ends_in_the_middle(self) -> bool:
        """Whether it names a time or offsets to end at."""
        return self.ending_timestamp is not None or bool(self.ending_offsets)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the key; none without one."""
        return key_columns(self.key)

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields of the JSON objects that keys of several columns are; none of another key."""
        columns = self.key_columns
        return tuple(self.json_options.field_of(column) for column in columns) if len(columns) > 1 else ()
