"""The ports of the driver's loop on Kubernetes: job models come from ConfigMaps, progress goes to the operator."""

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.job_model.job_model import JobModel
from streamapp_runtime.driver.driver_loop import Progress
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower, LaunchedApp, plan_launched
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_FOLLOW_SECONDS = 1.0
_LEASE_SECONDS = 10.0

Clock = Callable[[], float]
"""Returns monotonic seconds."""

Warn = Callable[[str], object]
"""Logs a failure that may pass."""


class Executors(Protocol):
    """The executors of a host."""

    def keep(self, processors: int, model: JobModel) -> None:
        """See `KubernetesHost.keep`."""
        ...


class FollowedJobModels:
    """The job models and numbers of executors that the Kubernetes operator writes for one epoch."""

    def __init__(
        self,
        launched: LaunchedApp,
        follower: JobModelFollower,
        host: Executors,
        warn: Warn,
        clock: Clock = time.monotonic,
    ) -> None:
        self._follower = follower
        self._host = host
        self._warn = warn
        self._clock = clock
        self._polled = clock()
        self._executors = launched.launch.processors

    def poll(self, current: PlannedRun) -> PlannedRun | None:
        """See `JobModelSource.poll`. The host gets the newest number of executors.

        Raises:
            EpochOutdatedError: another epoch is active.
        """
        if self._clock() < self._polled + _FOLLOW_SECONDS:
            return None
        self._polled = self._clock()
        try:
            launched = self._follower.read_launched()
            model = self._follower.newer_model()
        except KubernetesError as error:
            self._warn(f"the API server can't be asked: {error}")
            return None
        change = None if model is None else plan_launched(launched, model)
        if launched.launch.processors != self._executors:
            self._executors = launched.launch.processors
            self._host.keep(self._executors, (change or current).model)
        return change


class KubernetesProgressListener:
    """The progress of one epoch: for the Kubernetes operator, for its lease, and for the driver's own pages."""

    def __init__(
        self,
        reporter: ProgressReporter,
        lease: DriverLease,
        health: DriverHealth,
        warn: Warn,
        clock: Clock = time.monotonic,
    ) -> None:
        self._reporter = reporter
        self._lease = lease
        self._health = health
        self._warn = warn
        self._clock = clock
        self._renewed = clock()

    def report(self, progress: Progress) -> None:
        """See `ProgressListener.report`."""
        living = progress.living
        running = bool(living) and all(report.opened for report in living.values())
        summary = msgspec.structs.replace(progress.summary, incidents=progress.incidents)
        self._health.turn(summary, ready=running)
        try:
            if progress.draining:
                self._reporter.phase(DriverPhase.DRAINING)
            elif running:
                self._reporter.phase(DriverPhase.RUNNING)
            self._reporter.progress(progress.summary, progress.run.model, living)
            if living and self._clock() >= self._renewed + _LEASE_SECONDS:
                self._renewed = self._clock()
                self._lease.renew()
        except KubernetesError as error:
            self._warn(f"progress can't be reported: {error}")
