"""Processors as Spark jobs: one job of one task each, which loops until the processor ends (design 9).

The jobs share nothing, so one that dies leaves the others running. A plain RDD of one partition carries the
processor's configuration; rows never pass through Spark.
"""

import gc
import secrets
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError
from pyspark import SparkContext

from streamapp_runtime.errors import ProcessorFailed
from streamapp_runtime.hosts.threads import in_thread
from streamapp_runtime.processor.channel import DriverChannel
from streamapp_runtime.processor.http_channel import ChannelAddress, ChannelServer, HttpChannel
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_runtime.spark.session import start_local


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a processor ended in its worker: with a last report, or with a failure meant for people."""

    report: ProcessorReport | None = None
    failure: str | None = None


class SparkHost:
    """Runs each processor in a Python worker of a local Spark."""

    def __init__(self, channel: DriverChannel, name: str, processors: int, log_folder: Path) -> None:
        """Start Spark with a slot for each of so many processors; its log goes to a folder."""
        self._server = ChannelServer(channel.report, secrets.token_urlsafe(32))
        self._log = log_folder / "spark.log"
        self._spark = start_local(name, processors, log_folder)

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`."""
        return in_thread(f"processor-{config.processor}", lambda: self._run(config))

    def close(self) -> None:
        """See `ProcessorHost.close`."""
        self._spark.stop()
        self._server.close()

    def _run(self, config: ProcessorConfig) -> ProcessorReport:
        parcel = (msgspec.json.encode(config), msgspec.json.encode(self._server.address))
        try:
            (answer,) = _job(self._spark, parcel)
        except Py4JError as error:
            raise ProcessorFailed(
                f"processor {config.processor}: its worker died ({_cause(error)}); see {self._log}"
            ) from None
        outcome = msgspec.json.decode(answer, type=_Outcome)
        if outcome.report is None:
            raise ProcessorFailed(f"processor {config.processor}: {outcome.failure}")
        return outcome.report


def collect_rarely() -> None:
    """Let Python look for cyclic garbage rarely: rows are many objects and no cycles, and to walk them takes time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def _job(spark: SparkContext, parcel: tuple[bytes, bytes]) -> list[bytes]:
    spark.setLocalProperty("spark.job.description", "processor")
    answers: list[bytes] = spark.parallelize([parcel], 1).mapPartitions(_work).collect()
    return answers


def _work(parcels: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Run a processor; called in the Python worker."""
    from streamapp_runtime.errors import FAILURES
    from streamapp_runtime.processor.main import run_processor

    collect_rarely()
    for config, address in parcels:
        channel = HttpChannel(msgspec.json.decode(address, type=ChannelAddress), time.monotonic)
        try:
            report = run_processor(msgspec.json.decode(config, type=ProcessorConfig), channel)
            outcome = _Outcome(report=report)
        except FAILURES as error:
            outcome = _Outcome(failure=str(error))
        yield msgspec.json.encode(outcome)


def _cause(error: Py4JError) -> str:
    """Pick the line that tells what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]
