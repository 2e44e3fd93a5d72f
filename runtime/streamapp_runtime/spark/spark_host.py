"""Processors as Spark jobs: one job of one task each, which loops until the processor ends (docs/architecture.md).

The jobs share nothing, so one that dies leaves the others running. A plain RDD of one partition carries the
processor's configuration; rows never pass through Spark.
"""

import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError
from pyspark import SparkContext

from streamapp_runtime.errors import ProcessorLost, RuntimeFailure
from streamapp_runtime.hosts.processor_launch import (
    ProcessorLaunch,
    decode_launch,
    decode_outcome,
    final_report,
    run_launched,
)
from streamapp_runtime.hosts.worker import collect_garbage_rarely
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.http_driver_channel import ChannelServer
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.spark.local_session import start_local
from streamapp_runtime.spark.spark_jobs import failure_cause, job_group
from streamapp_runtime.threads import in_thread


class SparkHost:
    """A host that runs each processor in a Python worker of a local Spark."""

    def __init__(self, channel: DriverChannel, name: str, log_folder: Path) -> None:
        """Start Spark; its log goes to a folder."""
        self._server = ChannelServer(channel.report, secrets.token_urlsafe(32))
        self._log = log_folder / "spark.log"
        self._spark = start_local(name, log_folder)

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`."""
        return in_thread(f"processor-{config.incarnation.processor}", lambda: self._run(config))

    def cancel(self, incarnation: Incarnation) -> None:
        """See `ProcessorHost.cancel`: Spark kills the worker within a second or so."""
        self._spark.cancelJobGroup(job_group(incarnation))

    def close(self) -> None:
        """See `ProcessorHost.close`. Of a JVM that has died nothing is left to be stopped."""
        with suppress(Py4JError, OSError):
            self._spark.stop()
        self._server.close()

    def _run(self, config: ProcessorConfig) -> ProcessorReport:
        launch = msgspec.json.encode(ProcessorLaunch(config=config, address=self._server.address))
        try:
            (answer,) = _job(self._spark, config.incarnation, launch)
        except ConnectionRefusedError:
            died = f"Spark has died, see {self._log}; run the app again, and it continues from its last commit"
            raise RuntimeFailure(died) from None
        except Py4JError as error:
            raise ProcessorLost(f"its worker died ({failure_cause(error)}); see {self._log}") from None
        return final_report(decode_outcome(answer), config.incarnation.processor)


def _job(spark: SparkContext, incarnation: Incarnation, launch: bytes) -> list[bytes]:
    spark.setJobGroup(job_group(incarnation), str(incarnation), interruptOnCancel=True)
    answers: list[bytes] = spark.parallelize([launch], 1).mapPartitions(_run_launched).collect()
    return answers


def _run_launched(launches: Iterable[bytes]) -> Iterator[bytes]:
    """Run a processor; called in the Python worker."""
    collect_garbage_rarely()
    for launch in launches:
        yield msgspec.json.encode(run_launched(decode_launch(launch)))
