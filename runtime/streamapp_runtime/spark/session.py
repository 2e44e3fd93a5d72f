"""A local Spark for processors: one slot each, quiet, its own log apart from the terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext

_LOG4J = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1}: %m%n
"""


def local_settings(processors: int, log4j: Path) -> dict[str, str]:
    """Give the settings of a local Spark with one slot per processor.

    A worker is one processor's and ends with it (no reuse, no retry): the driver decides what is started again.
    """
    return {
        "spark.master": f"local[{processors}]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "false",
        "spark.dynamicAllocation.enabled": "false",
        "spark.task.maxFailures": "1",
        "spark.python.worker.reuse": "false",
        "spark.python.task.killTimeout": "500ms",
        # The JVM only holds the workers: rows never pass through it, so it should start fast and stay small.
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {_log4j_option(log4j)}",
    }


def _log4j_option(file: Path) -> str:
    return f"-Dlog4j2.configurationFile={file.as_uri()}"


def start_local(name: str, processors: int, folder: Path) -> SparkContext:
    """Start Spark in this process for so many processors; what it logs goes to `spark.log` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J)
    settings = local_settings(processors, log4j.absolute())
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers' interpreter; Spark asks nothing else
    with _stderr_to(folder / "spark.log"):
        return SparkContext(conf=SparkConf(loadDefaults=False).setAppName(name).setAll(list(settings.items())))


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Point this process's standard error to a file, so that the JVM started meanwhile inherits it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
