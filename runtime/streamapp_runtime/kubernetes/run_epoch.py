"""One epoch of an app on Kubernetes, from its launch to its end (`docs/protocols.md`)."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.deployment.kubernetes_names import STATE_FOLDER
from streamapp_core.naming import run_state_path
from streamapp_runtime.driver.fleet import Fleet
from streamapp_runtime.driver.maintenance import Maintenance
from streamapp_runtime.driver.prepare import PreparedRun
from streamapp_runtime.driver.processor_decisions import Timeouts
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import RunAuthority
from streamapp_runtime.driver.run_record import RunRecord, Summary
from streamapp_runtime.driver.run_summary import summarize
from streamapp_runtime.driver.supervisor import Supervisor
from streamapp_runtime.hosts.background_thread import in_thread
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_pages import Health
from streamapp_runtime.kubernetes.job_model_follower import Follower, Launched, prepared_run
from streamapp_runtime.kubernetes.progress_reporter import Reporter
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.spark.kubernetes_host import KubernetesHost
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_LOOK_SECONDS = 0.25
_FOLLOW_SECONDS = 1.0
_LEASE_SECONDS = 10.0
_STOP_SECONDS = 15.0
PATIENCE = Timeouts(start=900.0)
"""An executor may be long in coming: nodes are started for it, images are pulled."""


class LaunchedRun:
    """The processors of one epoch, from their start to their end."""

    def __init__(
        self,
        launched: Launched,
        prepared: PreparedRun,
        record: RunRecord,
        *,
        follower: Follower,
        folder: Path,
        board: ReportRegistry,
        host: KubernetesHost,
        reporter: Reporter,
        lease: DriverLease,
        health: Health,
        warn: Callable[[str], object],
    ) -> None:
        """Take what the launch is; relative paths of the spec resolve from `folder`. `warn` takes what may pass."""
        self._launched = launched
        self._record = record
        self._follower = follower
        self._folder = folder
        self._board = board
        self._host = host
        self._reporter = reporter
        self._lease = lease
        self._health = health
        self._warn = warn
        self._started = time.monotonic()
        self._followed = self._leased = self._started
        self._processors = launched.launch.processors
        self._fleet = Fleet(host, board, self._config, epoch=record.epoch, clock=time.monotonic, patience=PATIENCE)
        self._supervisor = Supervisor(
            prepared,
            self._fleet,
            RunAuthority(record, prepared.plan, folder, check=follower.check),
            clock=time.monotonic,
            patience=PATIENCE,
            background=in_thread,
        )

    @property
    def prepared(self) -> PreparedRun:
        """The plan and the job model that the run goes by now."""
        return self._supervisor.prepared

    def to_the_end(self, drain: Callable[[], bool]) -> Summary | None:
        """Run until all inputs have ended, and give the summary; None if `drain` said to stop.

        Raises:
            EpochOutdatedError, Superseded: another epoch is in force.
            RuntimeFailure, StreamSystemError: the app can't go on.
        """
        try:
            return self._watch(drain)
        except BaseException:
            self._fleet.stop(_STOP_SECONDS)
            raise

    def _watch(self, drain: Callable[[], bool]) -> Summary | None:
        supervisor = self._supervisor

        def working() -> set[str]:
            return {task.processor for task in supervisor.prepared.model.tasks.values()}

        with Maintenance(supervisor.prepared.plan, self._folder, self._board.reports, working):
            supervisor.start()
            while not supervisor.finished:
                supervisor.step()
                self._tell(self._summary(self._board.reports().values()), draining=drain())
                if drain():
                    supervisor.drain()
                else:
                    self._follow()
                supervisor.wait(_LOOK_SECONDS)
        return self._summary(supervisor.reports.values()) if supervisor.completed else None

    def _follow(self) -> None:
        """Go on with the newest job model and number of executors."""
        if time.monotonic() < self._followed + _FOLLOW_SECONDS or self._supervisor.changing:
            return
        self._followed = time.monotonic()
        try:
            launched = self._follower.launched()
            model = self._follower.newer_model()
        except KubernetesError as error:
            self._warn(f"the API server can't be asked: {error}")
            return
        if model is not None:
            self._supervisor.change(prepared_run(launched, model))
        if launched.launch.processors != self._processors:
            self._processors = launched.launch.processors
            self._host.keep(self._processors, model or self._supervisor.prepared.model)

    def _tell(self, summary: Summary, *, draining: bool) -> None:
        """Report what is new; nothing that is written here decides anything."""
        living = {id_: report for id_ in self._fleet.living if (report := self._board.newest(id_)) is not None}
        model = self._supervisor.prepared.model
        running = bool(living) and all(report.opened for report in living.values())
        self._health.turn(summary, ready=running)
        try:
            if draining:
                self._reporter.phase(DriverPhase.DRAINING)
            elif running:
                self._reporter.phase(DriverPhase.RUNNING)
            self._reporter.progress(summary, model, living)
            if living and time.monotonic() >= self._leased + _LEASE_SECONDS:
                self._leased = time.monotonic()
                self._lease.renew()
        except KubernetesError as error:
            self._warn(f"progress can't be reported: {error}")

    def _config(self, prepared: PreparedRun, incarnation: Incarnation) -> ProcessorConfig:
        return ProcessorConfig(
            incarnation=incarnation,
            app=self._launched.text,
            counts=dict(prepared.counts),
            job_model=prepared.model.model_dump_json(by_alias=True),
            ends=self._record.ends,
            starts=self._record.starts,
            folder=str(self._folder),
            state_folder=f"{STATE_FOLDER}/{run_state_path(prepared.plan.app.metadata, self._record.run_id)}",
        )

    def _summary(self, reports: Iterable[ProcessorReport]) -> Summary:
        seconds = time.monotonic() - self._started
        return summarize(self._supervisor.prepared.plan, self._record.ends, reports, seconds)
