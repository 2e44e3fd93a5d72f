"""A job of Spark that reads a source."""

from pathlib import Path

import msgspec

from streamapp_runtime.driver.spark_process import SparkProgram
from streamapp_runtime.threads import Event
from streamapp_systems.protocols import StreamSystemError

_PROGRAM = "streamapp_runtime.spark.read_source"


class SourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to read a source, and to write Parquet files of it to a `folder`, which is not there yet.

    `system` is the system of the spec as JSON, `address` the stream's name in it, `schema` the columns that are read,
    `properties` are those of Spark. Files are of `partitions`, by the `key` if there is one. Of an incremental source
    rows are read whose value is larger than `above` and not larger than `up_to`, as texts that Spark casts, and in
    their order.
    """

    system: str
    address: str
    schema: str
    properties: dict[str, str]
    folder: str
    partitions: int
    key: tuple[str, ...] = ()
    above: str | None = None
    up_to: str | None = None


class SourceOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a job; `failure`: why it has read nothing."""

    failure: str | None = None


_OUTCOMES = msgspec.json.Decoder(SourceOutcome)


def run_source(request: SourceRequest, folder: Path, stopping: Event) -> None:
    """Run a job to its end, in a folder from which its relative paths resolve.

    Raises:
        StreamSystemError: it has failed; the message says why.
        Stopped: `stopping` was set before.
    """
    outcomes: list[SourceOutcome] = []

    def look(content: bytes) -> bool:
        outcomes.append(_OUTCOMES.decode(content))
        return True

    with SparkProgram(_PROGRAM, folder) as program:
        death = program.run(msgspec.json.encode(request), stopping, look)
    failure = death if death is not None else outcomes[0].failure
    if failure is not None:
        raise StreamSystemError(failure)
