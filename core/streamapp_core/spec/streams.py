"""Streams: named sequences of rows, read or written by the app, or filling one of its tables."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from streamapp_core.spec.base import ColumnName, Duration, Name, PartitionCount, SchemaText, SpecModel, Text


class StreamFormat(StrEnum):
    """How the rows of a stream are written."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


class Partitioner(StrEnum):
    """How keys are spread over partitions; murmur2 is what Kafka's Java producers do."""

    MURMUR2 = "murmur2"


class KeyFormat(StrEnum):
    """How keys are encoded before they are hashed: as text, or as Java's binary numbers."""

    STRING = "string"
    INT = "int"
    LONG = "long"


class StartFrom(StrEnum):
    """Where a run without checkpoint begins to read."""

    EARLIEST = "earliest"
    LATEST = "latest"


class CsvOptions(SpecModel):
    """The dialect of CSV files."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null_value: Annotated[str, Field(max_length=64)] = ""
    header: bool = True


class EventTime(SpecModel):
    """Which column tells when a row happened, and how late rows may come."""

    column: ColumnName
    max_out_of_orderness: Duration = "0ms"  # type: ignore[assignment]
    idle_timeout: Duration | None = None


class StreamSpec(SpecModel):
    """A declared stream."""

    system: Name
    name: Annotated[
        Text | None, Field(description="Its topic or path in the system; default: the name it is declared by.")
    ] = None
    stream_schema: Annotated[SchemaText | None, Field(alias="schema")] = None
    format: StreamFormat = StreamFormat.JSON
    key: ColumnName | None = None
    key_format: KeyFormat = KeyFormat.STRING
    partitioner: Partitioner = Partitioner.MURMUR2
    event_time: EventTime | None = None
    start_from: StartFrom = StartFrom.EARLIEST
    bounded: Annotated[bool, Field(description="Whether the stream has an end.")] = False
    broadcast: Annotated[bool, Field(description="Whether every task reads all of it.")] = False
    control_messages: Annotated[
        bool, Field(description="Whether it is an intermediate stream of another app, with watermarks in it.")
    ] = False
    partitions: Annotated[
        PartitionCount | None, Field(description="With how many partitions the app makes it where it is missing.")
    ] = None
    csv: CsvOptions = CsvOptions()
