"""The program of a job of Spark that writes generations of committed rows to where only Spark writes."""

import sys
from collections.abc import Iterator, Mapping

import msgspec
from pyspark.sql import SparkSession

from streamapp_core.plan.check_spark_outputs import DELTA
from streamapp_core.schema import parse_schema
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_runtime.driver.write_process import WriteOutcome, WriteRequest, WriteTarget
from streamapp_runtime.spark.job_program import JOB_SETTINGS, read_requests, root_cause, write_outcome
from streamapp_runtime.spark.local_session import start_spark
from streamapp_runtime.spark.output_writers import open_writer
from streamapp_systems.protocols import StreamSystemError

_DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_SETTINGS = JOB_SETTINGS | {
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
}
"""What is written to is slower than Spark in any case, so the JVM should start fast and stay small."""

_REQUESTS = msgspec.json.Decoder(WriteRequest)


def main() -> None:
    """Do the requests that come, and write what comes of each to the file that the argument names."""
    session: SparkSession | None = None
    for line in read_requests():
        request = _REQUESTS.decode(line)
        sys.path.extend(entry for entry in request.python_path if entry not in sys.path)
        if session is None:
            session = SparkSession(start_spark(request.properties | _format_settings(request) | _SETTINGS))
        _write_targets(session, request)


def _write_targets(session: SparkSession, request: WriteRequest) -> None:
    written: dict[int, int] = {}
    failures: dict[int, str] = {}
    for place, target in enumerate(request.targets):
        try:
            for number in write_target(session, target):
                written[place] = number
                _tell(written, failures)
        except StreamSystemError as error:
            failures[place] = str(error)
        except Exception as error:  # noqa: BLE001 - writers raise what they like
            failures[place] = f"Spark can't write it: {root_cause(error)}"
    _tell(written, failures, ended=True)


def _tell(written: Mapping[int, int], failures: Mapping[int, str], *, ended: bool = False) -> None:
    write_outcome(msgspec.json.encode(WriteOutcome(written=dict(written), failures=dict(failures), ended=ended)))


def write_target(session: SparkSession, target: WriteTarget) -> Iterator[int]:
    """Write the generations for a place, and yield the number of each once it is there.

    Raises:
        StreamSystemError: the rows don't fit what is there, or the login or a function is missing.
    """
    writer = open_writer(session, SparkSystem.model_validate_json(target.system), target)
    if target.schema is not None:
        writer.judge(parse_schema(target.schema))
    for generation in target.generations:
        if generation.files:
            writer.write(session.read.parquet(*generation.files), generation.number)
        yield generation.number


def _format_settings(request: WriteRequest) -> dict[str, str]:
    """Return the properties that a format needs, if one of the targets has it."""
    formats = {SparkSystem.model_validate_json(target.system).format for target in request.targets}
    return _DELTA_SETTINGS if DELTA in formats else {}


if __name__ == "__main__":
    main()
