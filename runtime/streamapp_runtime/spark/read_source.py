"""The program of a job of Spark that reads a source and writes its rows as Parquet files."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere
from pyspark.sql.types import StructType

from streamapp_core.schema import DataType, Schema, SchemaError, parse_schema, parse_type
from streamapp_core.spec.systems import SparkSystem
from streamapp_runtime.driver.source_process import SourceOutcome, SourceRequest
from streamapp_runtime.spark.local_session import start_spark
from streamapp_systems.folder.column_types import type_mismatches
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.secret_reader import LocalSecrets

_JDBC = "jdbc"
_PLACES = ("dbtable", "query", "path", "paths")
"""Options that say what is read; where there is none, the stream's name does."""
_LOGIN = {"user": "username", "password": "password"}
_FETCHED = {"fetchsize": "10000"}
"""Without it some drivers of databases hold all rows in memory."""
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "streamapp-source",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.parquet.block.size": str(16 << 20),
}
"""One zone for Spark, the JVM and what drivers of databases tell their servers: moments stay what they are."""


def main() -> None:
    """Read the request, do it, and write what came of it to the file that the argument names."""
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=SourceRequest)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    failure = None
    try:
        read_source(SparkSession(start_spark(request.properties | _SETTINGS)), request)
    except StreamSystemError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - sources raise what they like
        failure = f"Spark can't read it: {root_cause(error)}"
    draft = Path(sys.argv[1]).with_suffix(".tmp")
    draft.write_bytes(msgspec.json.encode(SourceOutcome(failure=failure)))
    draft.rename(sys.argv[1])


def _end_with_driver() -> None:
    """End this process and its JVM when the driver has ended, however it did."""
    sys.stdin.buffer.read()
    with suppress(ProcessLookupError):
        os.killpg(os.getpgid(0), signal.SIGKILL)


def read_source(session: SparkSession, request: SourceRequest) -> None:
    """Read the rows of a request, and write them.

    Raises:
        StreamSystemError: a column or the login is not there, or a type is another one.
    """
    system, schema = SparkSystem.model_validate_json(request.system), parse_schema(request.schema)
    found = _load(session.read, system, request.address)
    mismatches = list(type_mismatches(schema, dict(_types(found.schema, schema))))
    if mismatches:
        raise StreamSystemError(f"{'; '.join(mismatches)}. Correct the stream's schema")
    rows = found.select([_column(name) for name in schema.names])
    incremental = system.incremental
    if incremental is not None:
        rows = rows.filter(_is_new(rows, incremental.column, request))
    if request.partitions > 1 or incremental is not None:
        rows = rows.repartition(request.partitions, *map(_column, request.key))
    if incremental is not None:
        rows = rows.sortWithinPartitions(_column(incremental.column))
    rows.write.parquet(request.folder)


def _load(reader: DataFrameReader, system: SparkSystem, address: str) -> DataFrame:
    options = (_FETCHED if system.format == _JDBC else {}) | _login(system)
    given = {name.lower() for name in system.options}
    unset = {name: value for name, value in options.items() if name not in given}
    prepared = reader.format(system.format).options(**unset, **system.options)
    if given & set(_PLACES):
        return prepared.load()
    return prepared.option("dbtable", address).load() if system.format == _JDBC else prepared.load(address)


def _login(system: SparkSystem) -> dict[str, str]:
    if system.secret_name is None:
        return {}
    secrets, login = LocalSecrets(os.environ), {}
    for option, key in _LOGIN.items():
        value = secrets.read(system.secret_name, key)
        if value is None:
            raise StreamSystemError(secrets.advice(system.secret_name, key))
        login[option] = value
    return login


def _types(found: StructType, wanted: Schema) -> Iterator[tuple[str, tuple[DataType | None, str]]]:
    """Yield the columns of a source, with the types of those that are wanted."""
    for field in found.fields:
        text = field.dataType.simpleString()
        try:
            kind = parse_type(text) if field.name in wanted.names else None
        except SchemaError:
            kind = None
        yield field.name, (kind, text)


def _is_new(rows: DataFrame, name: str, request: SourceRequest) -> Column:
    """Return the condition of new rows; those without a value are read, too, so that they are noticed."""
    column, kind = _column(name), rows.schema[name].dataType
    above = F.lit(True) if request.above is None else column > F.lit(request.above).cast(kind)
    up_to = F.lit(True) if request.up_to is None else column <= F.lit(request.up_to).cast(kind)
    return (above & up_to) | column.isNull()


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def root_cause(error: Exception) -> str:
    """Return the first line of what lies behind an error, in the JVM or here."""
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return str(error).strip().partition("\n")[0]
    while java.getCause() is not None:
        java = java.getCause()
    return str(java.toString()).strip().partition("\n")[0]


if __name__ == "__main__":
    main()
