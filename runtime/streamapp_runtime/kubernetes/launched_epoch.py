"""One epoch of an app on Kubernetes, on any host: from the launch that the Kubernetes operator wrote to its end."""

import threading
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_core.deployment.app_record import EpochOutdatedError, Launch
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.naming import run_state_path
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.driver.driver_loop import DriverLoop, Epoch
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import RunAuthority
from streamapp_runtime.driver.run_steps import complete_run
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import FAILURES, Superseded
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_loop_adapters import (
    Executors,
    FollowedJobModels,
    KubernetesProgressListener,
)
from streamapp_runtime.kubernetes.epoch_start import start_epoch
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower, LaunchedApp, plan_launched
from streamapp_runtime.kubernetes.outage_waits import OutageWaits
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.processor.driver_channel import DriverChannel

_START, _END = "the start of the driver", "the end of the driver"
_WAIT_SECONDS = 0.25
_STOP_SECONDS = 15.0
TIMEOUTS = Timeouts(start=900.0)
"""An executor may take long to come up: nodes are started for it, images are pulled."""


class ExecutorHost(ProcessorHost, Executors, Protocol):
    """A host whose processors run in executors that come and go."""


class MakeExecutorHost(Protocol):
    """Makes the host of an epoch, while what was there before it is fenced: executors take long to come."""

    def __call__(self, channel: DriverChannel, app: StreamApp, launch: Launch) -> ExecutorHost:
        """Make a host for the processors of a launched app, which report to a channel."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedEpoch:
    """The documents and pages of a driver, and what it runs on.

    The state of all runs is below `state_folder`. `draining` is set when the driver is to stop after a
    last commit. `handles` closes the host after the end was reported. Processors start once all have an executor, but
    `binding_seconds` after the host at the latest. `waits` are for the start and the end; in between
    the app runs without the API server, whose `outages` are shown.
    """

    store: MetadataStore
    follower: JobModelFollower
    reporter: ProgressReporter
    lease: DriverLease
    health: DriverHealth
    make_host: MakeExecutorHost
    context: ExecutionContext
    state_folder: Path
    draining: threading.Event
    handles: ExitStack
    outages: ApiServerOutages
    waits: OutageWaits
    binding_seconds: float

    def run(self) -> bool:
        """Run the launched app and report its end; return whether its inputs have ended: if not, it was drained.

        Raises:
            EpochOutdatedError, Superseded: another epoch is active.
            RuntimeFailure, StreamSystemError, KubernetesError: the app can't continue.
        """
        try:
            completed = self._run()
        except (EpochOutdatedError, Superseded):
            raise
        except FAILURES as failure:
            reason = str(failure)
            self.waits.call(_END, lambda: self._report_failure(reason))
            raise
        phase = DriverPhase.COMPLETED if completed else DriverPhase.DRAINED
        self.waits.call(_END, lambda: self.reporter.phase(phase))
        return completed

    def _report_failure(self, reason: str) -> None:
        """Report that the app has failed, unless another epoch is active.

        A driver and a worker that stood still together fail where later epochs have deleted what the worker would read.
        """
        self.follower.check()
        self.reporter.phase(DriverPhase.FAILED, reason)

    def _run(self) -> bool:
        model = self._first_model()
        if model is None:
            return False
        launched = self.waits.call(_START, self.follower.read_launched)
        self.waits.call(_START, lambda: self.reporter.phase(DriverPhase.STARTING))
        run = plan_launched(launched, model)
        app, threads, clock = run.plan.app, self.context.threads, self.context.clock.monotonic
        registry = ReportRegistry(clock)
        starting = threads.start("host", lambda: self.make_host(registry, app, launched.launch))
        self.handles.callback(self._close_host, starting)
        record = self.waits.call(_START, lambda: start_epoch(launched, run, self.store, self.context))
        epoch = Epoch(
            run=run,
            record=record,
            text=launched.text,
            state_folder=str(self.state_folder / run_state_path(app.metadata, record.run_id)),
            started=clock(),
            stop_seconds=_STOP_SECONDS,
            timeouts=TIMEOUTS,
        )
        authority = RunAuthority(record, run.plan, self.store, self.context, check=self.follower.check)
        progress = KubernetesProgressListener(
            self.reporter, self.lease, self.health, outages=self.outages, threads=threads, clock=clock
        )
        host = self.waits.wait(starting)
        bound = self._await_bindings(launched, run)
        if bound is not run:
            self.waits.call(_START, lambda: authority.activate_job_model(bound))
            epoch = replace(epoch, run=bound)
        job_models = FollowedJobModels(
            launched, self.follower, host, outages=self.outages, threads=threads, clock=clock
        )
        try:
            with DriverLoop(
                epoch, self.context, authority, host, registry, job_models=job_models, listener=progress
            ) as loop:
                final = loop.run(self.draining.is_set)
        finally:
            self.waits.call(_END, progress.finish)
        if final is None:
            return False
        completed, run = msgspec.structs.replace(final.record, summary=final.summary), final.run
        self.waits.call(_END, lambda: complete_run(completed, run, self.store, self.context, TIMEOUTS))
        return True

    def _await_bindings(self, launched: LaunchedApp, run: PlannedRun) -> PlannedRun:
        """Wait until the Kubernetes operator has bound all processors to executors, and return the run with these.

        Processors that were started before would be replaced at once.
        """
        clock = self.context.clock.monotonic
        until = clock() + self.binding_seconds
        while not _are_bound(run.model) and clock() < until and not self.draining.wait(_WAIT_SECONDS):
            self.health.turn(None, ready=False)
            model = self._newer_model()
            run = run if model is None else plan_launched(launched, model)
        return run

    def _close_host(self, starting: Future[ExecutorHost]) -> None:
        """Close the host that was started, if it has started."""
        self.context.threads.wait([starting], None)
        if starting.exception() is None:
            starting.result().close()

    def _first_model(self) -> JobModel | None:
        """Wait for the job model of this epoch, which is written right after the pod is created; None: stop instead."""
        while not self.draining.is_set():
            self.health.turn(None, ready=False)
            model = self._newer_model()
            if model is not None:
                return model
            self.draining.wait(_WAIT_SECONDS)
        return None

    def _newer_model(self) -> JobModel | None:
        """Return the job model if there is a newer one.

        Raises:
            EpochOutdatedError: another epoch is active.
        """
        self.waits.call(_START, self.follower.read_launched)
        return self.waits.call(_START, self.follower.newer_model)


def _are_bound(model: JobModel) -> bool:
    return all(processor.executor is not None for processor in model.processors.values())
