"""The two ways in which the driver of a simulated app is run: on its machine, and on Kubernetes."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from simulation.simulated_host import SimulatedHost, Surroundings
from simulation.simulated_process import EPOCH_MS, SimulatedProcess, SimulatedThreads
from streamapp_core.deployment.app_record import (
    RECORD,
    AcceptedSpec,
    AppRecord,
    EpochOutdatedError,
    Launch,
    LaunchCause,
)
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import TRANSIENT, Drained, ProcessorFailed, Superseded, SystemAway
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.launched_epoch import TIMEOUTS, LaunchedEpoch
from streamapp_runtime.kubernetes.outage_waits import OutageWaits
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_api import KubernetesApi, ServerUnavailableError
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from support.kubernetes_api import MemoryCluster

EXPECTED = (Drained, ProcessorFailed, Superseded, SystemAway, EpochOutdatedError, *TRANSIENT)
"""What a driver may end with; somebody starts the app again."""
RUN_ID = "r1"
_UNREACHED_SECONDS = 1.0
_OWNER = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "app", "uid": "u1"}


class DriverLauncher(Protocol):
    """Runs drivers of one app, each in a process of its own."""

    several: bool
    """Whether a driver may be started while another one lives."""

    def prepare(self) -> Callable[[SimulatedProcess, Callable[[], bool]], bool]:
        """Make all ready for the next driver; return what runs it, until `drain` says so.

        It returns whether the app has come to its end, and raises what the driver ends with.
        """
        ...

    def scale(self, *, at_once: bool) -> bool:
        """Ask for the processors that are wanted, of the driver that runs; return whether another one is needed.

        `at_once`: it should not be.
        """
        ...

    def cut_documents(self, driver: SimulatedProcess, until: float) -> None:
        """Let a driver not reach the API server until a time, if it needs one."""
        ...


class LocalLauncher:
    """Runs the app as `streamapp run` does: the driver holds the lock of the app's folder."""

    several = False

    def __init__(self, text: Callable[[], str], folder: Path, surroundings: Surroundings) -> None:
        """Take what returns the app as it is then."""
        self._text = text
        self._folder = folder
        self._state = folder / ".streamapp" / "app"
        self._surroundings = surroundings

    def prepare(self) -> Callable[[SimulatedProcess, Callable[[], bool]], bool]:
        """See `DriverLauncher.prepare`."""
        return self._run

    def _run(self, process: SimulatedProcess, drain: Callable[[], bool]) -> bool:
        request = RunRequest(text=self._text(), folder=self._folder, state=self._state, fresh=False, run_id=RUN_ID)
        run_app(
            request,
            lambda channel, *_: SimulatedHost(process, channel, self._surroundings),
            lambda _: None,
            drain=drain,
            requested_change=self._scale,
            context=self._surroundings.context_of(process),
        )
        return True

    def scale(self, *, at_once: bool) -> bool:
        """See `DriverLauncher.scale`: the driver looks by itself."""
        return False

    def cut_documents(self, driver: SimulatedProcess, until: float) -> None:
        """See `DriverLauncher.cut_documents`: there is no API server."""

    def _scale(self, run: PlannedRun) -> PlannedRun | None:
        """Return the run with as many processors as are wanted, if it has not."""
        wanted = {str(number): str(self._state) for number in range(self._surroundings.processors)}
        if run.model.processors.keys() == wanted.keys():
            return None
        return replace(run, model=build_job_model(run.plan, run.model, wanted))


class KubernetesLauncher:
    """Runs the app as the Kubernetes operator does: every driver has an epoch of its own, and nobody holds a lock."""

    several = True

    def __init__(
        self,
        text: Callable[[], str],
        counts: Callable[[], dict[str, int]],
        folder: Path,
        surroundings: Surroundings,
    ) -> None:
        """Take what returns the app, and its inputs' numbers of partitions, as they are then."""
        self._texts = text
        self._text = ""
        self._counts = counts
        self._folder = folder
        self._surroundings = surroundings
        self._epoch = 0
        self._launched_counts: dict[str, int] = {}
        self._cluster = MemoryCluster()
        self._store = self._store_of(self._cluster)
        self._cut_until: dict[SimulatedProcess, float] = {}

    def prepare(self) -> Callable[[SimulatedProcess, Callable[[], bool]], bool]:
        """See `DriverLauncher.prepare`: the epoch is written, with its job model, as the operator does."""
        self._epoch += 1
        epoch, counts = self._epoch, self._counts()
        self._launched_counts, self._text = counts, self._texts()
        version = {"app": "text", "run_id": RUN_ID, "counts": counts}
        launch = Launch(
            epoch=epoch,
            processors=self._surroundings.processors,
            executor_template={},
            cause=LaunchCause.FIRST_START,
            at=datetime.fromtimestamp(EPOCH_MS / 1_000, UTC),
            **version,
        )
        record = AppRecord(accepted=AcceptedSpec(generation=1, **version), launch=launch, apps={"text": self._text})
        self._store.put(RECORD, record.to_bytes())
        self._write_job_model(counts)
        return lambda process, drain: self._run(epoch, process, drain)

    def scale(self, *, at_once: bool) -> bool:
        """See `DriverLauncher.scale`: a job model of the same epoch is written, or another driver gets one."""
        if at_once and self._epoch:
            self._write_job_model(self._launched_counts)
        return not at_once

    def _write_job_model(self, counts: dict[str, int]) -> None:
        stored = read_job_model(self._store)
        previous = None if stored is None else stored.model
        planned = plan(parse_text(self._text), counts, previous, run_id=RUN_ID).plan
        assert planned is not None
        processors = {str(number): "here" for number in range(self._surroundings.processors)}
        expected = ABSENT if stored is None else stored.pointer_version
        model = build_job_model(planned, previous, processors)
        write_job_model(self._store, model, epoch=self._epoch, expected=expected)

    def cut_documents(self, driver: SimulatedProcess, until: float) -> None:
        """See `DriverLauncher.cut_documents`."""
        self._cut_until[driver] = until

    def _store_of(self, api: KubernetesApi) -> ConfigMapMetadataStore:
        return ConfigMapMetadataStore(api, "team", "app", owners=[_OWNER])

    def _run(self, epoch: int, process: SimulatedProcess, drain: Callable[[], bool]) -> bool:
        store = self._store_of(ApiServerWay(self._cluster, process, lambda: self._cut_until.get(process, 0.0)))

        def now() -> datetime:
            return datetime.fromtimestamp(EPOCH_MS / 1_000, UTC) + timedelta(seconds=process.scheduler.now)

        draining = SimulatedThreads(process).event()
        process.scheduler.start(f"{process.name}/signals", lambda: _pass_on(process, drain, draining), process)
        context, api = self._surroundings.context_of(process), MemoryCluster()
        environment = DriverEnvironment(app="app", namespace="team", epoch=epoch, pod="p", address="10.0.0.7")
        outages = ApiServerOutages(lambda _: None, context.clock.monotonic)
        health = DriverHealth(context.clock.monotonic)
        with ExitStack() as handles:
            return LaunchedEpoch(
                store=store,
                follower=JobModelFollower(store, epoch),
                reporter=ProgressReporter(store, RUN_ID, epoch, now),
                lease=DriverLease(api, environment, _OWNER, now),
                health=health,
                make_host=lambda channel, *_: ExecutorHost(process, channel, self._surroundings),
                context=context,
                state_folder=self._folder / "state",
                draining=draining,
                handles=handles,
                outages=outages,
                waits=OutageWaits(outages, health, context, TIMEOUTS),
                binding_seconds=1.0,
            ).run()


class ApiServerWay:
    """The way of a driver to the API server, as `KubernetesApi`: nothing gets through while it is cut."""

    def __init__(self, cluster: MemoryCluster, process: SimulatedProcess, cut_until: Callable[[], float]) -> None:
        self._cluster = cluster
        self._process = process
        self._cut_until = cut_until

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a request to the API server."""

        def ask(*arguments: Any, **options: Any) -> Any:
            self._process.step(f"API server {name}")
            if self._process.scheduler.now < self._cut_until():
                self._process.scheduler.wait(self._process.scheduler.now + _UNREACHED_SECONDS)
                raise ServerUnavailableError("connection timed out")
            return getattr(self._cluster, name)(*arguments, **options)

        return ask


class ExecutorHost(SimulatedHost):
    """A host that has an executor for everybody."""

    def keep(self, processors: object, model: object) -> None:
        """Release nobody."""


def _pass_on(process: SimulatedProcess, drain: Callable[[], bool], draining) -> None:
    """Set an event as soon as the driver is to be drained, as a signal does."""
    while not drain():
        process.scheduler.wait(process.scheduler.now + 0.5)
    draining.set()
