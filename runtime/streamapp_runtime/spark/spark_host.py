"""Processors as Spark jobs: one job of one task each, which loops until the processor ends (docs/architecture.md).

The jobs share nothing, so one that dies leaves the others running. A plain RDD of one partition carries the
processor's configuration; rows never pass through Spark.
"""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError

from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.errors import ProcessorLost, RuntimeFailure
from streamapp_runtime.hosts.processor_launch import (
    ProcessorLaunch,
    ProcessorOutcome,
    decode_launch,
    decode_outcome,
    final_report,
)
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.http_driver_channel import ChannelServer
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.spark.app_properties import app_properties
from streamapp_runtime.spark.channel_certificate import make_channel_certificate
from streamapp_runtime.spark.driver_machine import DriverMachine, describe_this_machine, find_difference
from streamapp_runtime.spark.local_session import StartedJvm, local_settings, standalone_settings, start_logged
from streamapp_runtime.spark.spark_jobs import failure_cause, job_group, name_job
from streamapp_runtime.spark.spark_logging import write_log_settings
from streamapp_runtime.spark.standalone_cluster import await_executors, check_master, find_own_address
from streamapp_runtime.spark.submitted_application import check_submitted, read_submitted
from streamapp_runtime.threads import in_thread


def _no_early_start() -> None:
    return None


class SparkHost:
    """A host that runs each processor in a Python worker of Spark: of a local one, or of a standalone cluster."""

    def __init__(
        self,
        channel: DriverChannel,
        app: StreamApp,
        log_folder: Path,
        *,
        folder: Path = Path(),
        master: str | None = None,
        start_early: Callable[[], StartedJvm | None] = _no_early_start,
    ) -> None:
        """Start Spark; its log goes to `log_folder`. A relative folder of its event log is in `folder`.

        `start_early` returns what has been started for a local Spark, or starts it.

        Raises:
            RuntimeFailure: it does not start; the cluster of `master` does not answer, or has no room.
        """
        self._log = log_folder / "spark.log"
        submitted = read_submitted()
        cluster = _find_cluster(master, submitted)
        processors, log4j = app.spec.processors, write_log_settings(log_folder)
        address = None if cluster is None else find_own_address(cluster)
        if cluster is None or address is None:
            settings = local_settings(log4j)
        else:
            settings = standalone_settings(cluster, processors, address, log4j)
        settings = app_properties(app.spec, folder) | settings | {"spark.app.name": app.metadata.name}
        check_submitted(submitted, settings, app.spec.spark, os.environ)
        self._spark = start_logged({**submitted, **settings}, self._log, start_early() if cluster is None else None)
        self._server = _serve(channel, address)
        self._machine = None if cluster is None else describe_this_machine(self._log)
        if cluster is not None:
            try:
                await_executors(self._spark, processors.count, processors.cores)
            except RuntimeFailure:
                self.close()
                raise

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
            name_job(self._spark, config)
            (answer,) = self._spark.parallelize([(self._machine, launch)], 1).mapPartitions(_run_launched).collect()
        except ConnectionRefusedError:
            died = f"Spark has died, see {self._log}; run the app again, and it continues from its last commit"
            raise RuntimeFailure(died) from None
        except Py4JError as error:
            raise ProcessorLost(f"its worker died ({failure_cause(error)}); see {self._log}") from None
        return final_report(decode_outcome(answer), config.incarnation.processor)


def _find_cluster(master: str | None, submitted: Mapping[str, str]) -> str | None:
    """Return the master of a standalone cluster; None: Spark is local."""
    if master is not None:
        return check_master(master)
    found = submitted.get("spark.master", "local")
    return None if found.startswith("local") else check_master(found)


def _serve(channel: DriverChannel, address: str | None) -> ChannelServer:
    """Listen for reports: of this machine's processors, or at an address for those of others, encrypted."""
    token = secrets.token_urlsafe(32)
    if address is None:
        return ChannelServer(channel.report, token)
    with tempfile.TemporaryDirectory(prefix="streamapp-") as folder:
        certificate = make_channel_certificate(Path(folder))
    return ChannelServer(channel.report, token, listen=(address, 0), host=address, certificate=certificate)


def _run_launched(launches: Iterable[tuple[DriverMachine | None, bytes]]) -> Iterator[bytes]:
    """Run a processor; called in the Python worker."""
    from streamapp_runtime.hosts.launched_processor import run_launched  # a driver starts without it

    for driver, encoded in launches:
        launch = decode_launch(encoded)
        difference = None if driver is None else _find_difference(launch, driver)
        outcome = run_launched(launch) if difference is None else ProcessorOutcome(failure=difference)
        yield msgspec.json.encode(outcome)


def _find_difference(launch: ProcessorLaunch, driver: DriverMachine) -> str | None:
    app = parse_text(launch.config.app).app
    return None if app is None else find_difference(app, driver, describe_this_machine(Path(driver.file)))
