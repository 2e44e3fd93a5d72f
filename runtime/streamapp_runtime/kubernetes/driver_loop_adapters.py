"""The ports of the driver's loop on Kubernetes: job models come from ConfigMaps, progress goes to the operator.

The API server may be slow or away: it is asked beside the loop, which goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.job_model.job_model import JobModel
from streamapp_runtime.driver.driver_loop import Progress
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.kubernetes.api_server_calls import ApiServerCalls, ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower, LaunchedApp, plan_launched
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.threads import Threads

_FOLLOW_SECONDS = 1.0
_LEASE_SECONDS = 10.0

Clock = Callable[[], float]
"""Returns monotonic seconds."""


class Executors(Protocol):
    """The executors of a host."""

    def keep(self, processors: int, model: JobModel) -> None:
        """See `KubernetesHost.keep`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    """The run to change to, if there is one, and how many executors to keep, by the documents."""

    change: PlannedRun | None
    executors: int


class FollowedJobModels:
    """The job models and numbers of executors that the Kubernetes operator writes for one epoch."""

    def __init__(
        self,
        launched: LaunchedApp,
        follower: JobModelFollower,
        host: Executors,
        *,
        outages: ApiServerOutages,
        threads: Threads,
        clock: Clock,
    ) -> None:
        self._follower = follower
        self._host = host
        self._calls = ApiServerCalls[_Followed]("the follower of job models", outages, threads, clock)
        self._clock = clock
        self._polled = clock()
        self._executors = launched.launch.processors

    def poll(self, current: PlannedRun) -> PlannedRun | None:
        """See `JobModelSource.poll`. The host gets the newest number of executors.

        Raises:
            EpochOutdatedError: another epoch is active.
        """
        followed = self._calls.take()
        if self._calls.due and self._clock() >= self._polled + _FOLLOW_SECONDS:
            self._polled = self._clock()
            self._calls.begin(self._follow)
        if followed is None:
            return None
        if followed.executors != self._executors:
            self._executors = followed.executors
            self._host.keep(self._executors, (followed.change or current).model)
        return followed.change

    def _follow(self) -> _Followed:
        launched = self._follower.read_launched()
        model = self._follower.newer_model()
        change = None if model is None else plan_launched(launched, model)
        return _Followed(change=change, executors=launched.launch.processors)


class KubernetesProgressListener:
    """The progress of one epoch: for the Kubernetes operator, for its lease, and for the driver's own pages."""

    def __init__(
        self,
        reporter: ProgressReporter,
        lease: DriverLease,
        health: DriverHealth,
        *,
        outages: ApiServerOutages,
        threads: Threads,
        clock: Clock,
    ) -> None:
        self._reporter = reporter
        self._lease = lease
        self._health = health
        self._outages = outages
        self._calls = ApiServerCalls[None]("the report of progress", outages, threads, clock)
        self._clock = clock
        self._renewed = clock()

    def report(self, progress: Progress) -> None:
        """See `ProgressListener.report`."""
        self._calls.take()
        living = progress.living
        running = bool(living) and all(report.opened for report in living.values())
        incidents = (*progress.summary.incidents, *self._outages.incidents)
        summary = msgspec.structs.replace(progress.summary, incidents=incidents)
        self._health.turn(summary, ready=running)
        if self._calls.due:
            self._calls.begin(lambda: self._write(progress, running=running))

    def finish(self) -> None:
        """Wait for the report that is being written: what is reported after it stays the last one."""
        self._calls.finish()

    def _write(self, progress: Progress, *, running: bool) -> None:
        if progress.draining:
            self._reporter.phase(DriverPhase.DRAINING)
        elif running:
            self._reporter.phase(DriverPhase.RUNNING)
        self._reporter.progress(progress.summary, progress.run.model, progress.living)
        if progress.living and self._clock() >= self._renewed + _LEASE_SECONDS:
            self._lease.renew()
            self._renewed = self._clock()
