"""Spark in this process: a local one with a slot for each processor, or the driver of one on a standalone cluster."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException

from streamapp_core.spec.processors import ProcessorsSpec
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.spark.daemon_names import WORKER_DAEMON

_SLOTS = 1_024
"""More than there are processors, with their followers: a slot that is not used costs nothing."""

MASTER_VARIABLE = "STREAMAPP_SPARK_MASTER"
"""Environment variable: another master of this machine. With `local-cluster[2,1,1024]` processors run in two executors,
which are processes of their own."""

_LOOPBACK = "127.0.0.1"

_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""JVMs only hold the workers: rows never pass through them, so they should start fast and stay small."""

_WORKERS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
    "spark.task.maxFailures": "1",
    "spark.python.daemon.module": WORKER_DAEMON,
    "spark.python.worker.reuse": "false",
    "spark.python.task.killTimeout": "500ms",
    "spark.executor.memory": "512m",
}
"""A worker runs one processor and ends with it (no reuse, no retry): the driver decides what is restarted."""


class StartedJvm(Protocol):
    """A JVM that has been started before Spark."""

    def offered(self) -> AbstractContextManager[None]:
        """Make PySpark connect to it, in this context."""
        ...


def local_settings(log4j: Path) -> dict[str, str]:
    """Return the settings of a local Spark."""
    return _WORKERS | {
        "spark.master": os.environ.get(MASTER_VARIABLE, f"local[{_SLOTS}]"),
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.extraJavaOptions": f"{_JAVA} {_log4j_option(log4j)}",
        "spark.executor.extraJavaOptions": f"{_JAVA} {_log4j_option(log4j)}",
    }


def standalone_settings(master: str, processors: ProcessorsSpec, address: str, log4j: Path) -> dict[str, str]:
    """Return the settings of the driver of a standalone cluster: an executor for each processor, one task in each.

    The driver listens at an `address` of this machine that the workers can reach.
    """
    return _WORKERS | {
        "spark.master": master,
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.extraJavaOptions": f"{_JAVA} {_log4j_option(log4j)}",
        "spark.executor.extraJavaOptions": _JAVA,
        "spark.executor.cores": str(processors.cores),
        "spark.task.cpus": str(processors.cores),
        "spark.cores.max": str(processors.cores * processors.count),
    }


def _log4j_option(file: Path) -> str:
    return f"-Dlog4j2.configurationFile={file.as_uri()}"


def start_logged(settings: Mapping[str, str], log: Path, jvm: StartedJvm | None = None) -> SparkContext:
    """Start Spark in this process, in a JVM that has been started (None: in one of its own); its log goes to a file.

    Raises:
        RuntimeFailure: it does not start, or was stopped meanwhile.
    """
    with _stderr_to(log):
        try:
            with nullcontext() if jvm is None else jvm.offered():
                return start_spark(settings)
        except (PySparkException, Py4JError, OSError) as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise RuntimeFailure(f"Spark has not started: {reason}; see {log}") from error


def start_spark(settings: Mapping[str, str]) -> SparkContext:
    """Start Spark in this process, with these settings above those of its own files (`spark-defaults.conf`)."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark starts workers with this interpreter
    if settings.get("spark.ui.enabled") == "true":
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK  # where its pages listen: they have no login
    with _same_interrupts():
        return SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Redirect this process's standard error to a file, so that a JVM started meanwhile inherits it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _same_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C: that of Spark cancels all jobs, but processors have to make a last commit."""
    kept = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, kept)
