"""The common parts of the programs of Spark that read sources and write outputs."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere
from pyspark.sql.types import StructType

from streamapp_core.schema import DataType, SchemaError, parse_type
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.secret_reader import LocalSecrets

_LOGIN = {"user": "username", "password": "password"}

JOB_SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "streamapp-job",
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


def read_requests() -> Iterator[bytes]:
    """Yield the requests as they come; when there come no more, this process and its JVM are ended at once."""
    requests: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            requests.put(line)
        with suppress(ProcessLookupError):
            os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield requests.get()


def write_outcome(content: bytes) -> None:
    """Replace the file that the argument names, whole."""
    draft = Path(sys.argv[1]).with_suffix(".tmp")
    draft.write_bytes(content)
    draft.rename(sys.argv[1])


def read_login(system: SparkSystem) -> dict[str, str]:
    """Return the options of a login; none if the system names no secret.

    Raises:
        StreamSystemError: the secret is not there.
    """
    if system.secret_name is None:
        return {}
    secrets, login = LocalSecrets(os.environ), {}
    for option, key in _LOGIN.items():
        value = secrets.read(system.secret_name, key)
        if value is None:
            raise StreamSystemError(secrets.advice(system.secret_name, key))
        login[option] = value
    return login


def column_types(found: StructType, wanted: Sequence[str]) -> Iterator[tuple[str, tuple[DataType | None, str]]]:
    """Yield the columns of a table, with the types of those that are wanted."""
    for field in found.fields:
        text = field.dataType.simpleString()
        try:
            kind = parse_type(text) if field.name in wanted else None
        except SchemaError:
            kind = None
        yield field.name, (kind, text)


def named_column(name: str) -> Column:
    """Return a column by its name, whatever letters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


def root_cause(error: Exception) -> str:
    """Return the first line of what lies behind an error, in the JVM or here."""
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return str(error).strip().partition("\n")[0]
    while java.getCause() is not None:
        java = java.getCause()
    return str(java.toString()).strip().partition("\n")[0]
