"""The program of a job of Spark that reads a source and writes its rows as Parquet files."""

import msgspec
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere

from streamapp_core.plan.check_spark_outputs import JDBC, PLACES
from streamapp_core.schema import parse_schema
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_runtime.driver.source_process import SourceOutcome, SourceRequest
from streamapp_runtime.spark.job_program import (
    JOB_SETTINGS,
    column_types,
    named_column,
    read_login,
    read_requests,
    root_cause,
    write_outcome,
)
from streamapp_runtime.spark.local_session import start_spark
from streamapp_systems.folder.column_types import type_mismatches
from streamapp_systems.protocols import StreamSystemError

_FETCHED = {"fetchsize": "10000"}
"""Without it some drivers of databases hold all rows in memory."""

_REQUESTS = msgspec.json.Decoder(SourceRequest)


def main() -> None:
    """Read the request, do it, and write what came of it to the file that the argument names."""
    request = _REQUESTS.decode(next(read_requests()))
    failure = None
    try:
        read_source(SparkSession(start_spark(request.properties | JOB_SETTINGS)), request)
    except StreamSystemError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - sources raise what they like
        failure = f"Spark can't read it: {root_cause(error)}"
    write_outcome(msgspec.json.encode(SourceOutcome(failure=failure)))


def read_source(session: SparkSession, request: SourceRequest) -> None:
    """Read the rows of a request, and write them.

    Raises:
        StreamSystemError: a column or the login is not there, or a type is another one.
    """
    system, schema = SparkSystem.model_validate_json(request.system), parse_schema(request.schema)
    found = _load(session.read, system, request.address)
    mismatches = list(type_mismatches(schema, dict(column_types(found.schema, schema.names))))
    if mismatches:
        raise StreamSystemError(f"{'; '.join(mismatches)}. Correct the stream's schema")
    rows = found.select([named_column(name) for name in schema.names])
    incremental = system.incremental
    if incremental is not None:
        rows = rows.filter(_is_new(rows, incremental.column, request))
    if request.partitions > 1 or incremental is not None:
        rows = rows.repartition(request.partitions, *map(named_column, request.key))
    if incremental is not None:
        rows = rows.sortWithinPartitions(named_column(incremental.column))
    rows.write.parquet(request.folder)


def _load(reader: DataFrameReader, system: SparkSystem, address: str) -> DataFrame:
    options = (_FETCHED if system.format == JDBC else {}) | read_login(system)
    given = {name.lower() for name in system.options}
    unset = {name: value for name, value in options.items() if name not in given}
    prepared = reader.format(system.format).options(**unset, **system.options)
    if given & set(PLACES):
        return prepared.load()
    return prepared.option("dbtable", address).load() if system.format == JDBC else prepared.load(address)


def _is_new(rows: DataFrame, name: str, request: SourceRequest) -> Column:
    """Return the condition of new rows; those without a value are read, too, so that they are noticed."""
    column, kind = named_column(name), rows.schema[name].dataType
    above = F.lit(True) if request.above is None else column > F.lit(request.above).cast(kind)
    up_to = F.lit(True) if request.up_to is None else column <= F.lit(request.up_to).cast(kind)
    return (above & up_to) | column.isNull()


if __name__ == "__main__":
    main()
