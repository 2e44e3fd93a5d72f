"""An app that the Kubernetes operator has launched, run by its driver without a cluster: processors are threads."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime

from streamapp_core.deployment.app_record import RECORD, AcceptedSpec, AppRecord, Launch, LaunchCause
from streamapp_core.deployment.driver_reports import PROGRESS, DriverPhase, ProgressReport
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.run_record import load_record
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.launched_epoch import LaunchedEpoch
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from support.kubernetes_api import MemoryCluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "app", "uid": "u1"}


class ThreadHost(InProcessHost):
    """A host that has an executor for everybody."""

    def keep(self, processors, model):
        """Nobody is released."""


class LaunchedApp:
    """The driver of an app's epoch: `with` it, the app runs, and is drained at the end."""

    def __init__(self, folder, document, counts, processors=1, *, store=None, epoch=1):
        self.folder = folder
        self.store = store or ConfigMapMetadataStore(MemoryCluster(), "team", "app", owners=[OWNER])
        self.health = DriverHealth(lambda: 0.0)
        self._of = document, counts, processors
        self._epoch = epoch
        self._draining = threading.Event()
        text = json.dumps(document)
        version = {"app": "text", "run_id": "r1", "counts": counts}
        launch = Launch(
            epoch=epoch, processors=processors, executor_template={}, cause=LaunchCause.FIRST_START, at=NOW, **version
        )
        record = AppRecord(accepted=AcceptedSpec(generation=1, **version), launch=launch, apps={"text": text})
        self.store.put(RECORD, record.to_bytes())
        stored = read_job_model(self.store)
        previous = None if stored is None else stored.model
        planned = plan(parse_text(text), counts, previous, run_id="r1").plan
        model = build_job_model(planned, previous, {str(number): "here" for number in range(processors)})
        expected = ABSENT if stored is None else stored.pointer_version
        write_job_model(self.store, model, epoch=epoch, expected=expected)

    def restarted(self):
        """Return the driver of the next epoch."""
        return LaunchedApp(self.folder, *self._of, store=self.store, epoch=self._epoch + 1)

    def __enter__(self):
        self._threads = ThreadPoolExecutor(1)
        self._ended = self._threads.submit(self._run)
        return self

    def __exit__(self, *_):
        self.drain()

    def drain(self):
        """Stop the driver after a last commit, and return whether the app had come to its end."""
        self._draining.set()
        try:
            return self._ended.result(60)
        finally:
            self._threads.shutdown()

    @property
    def failed(self):
        """The failure of the driver, if it has ended with one."""
        return self._ended.done() and self._ended.exception()

    @property
    def record(self):
        """The record of the run."""
        return load_record(self.store)

    @property
    def progress(self):
        """The last report for the Kubernetes operator."""
        return ProgressReport.read(self.store, PROGRESS)

    def _run(self):
        environment = DriverEnvironment(
            app="app", namespace="team", epoch=self._epoch, pod="app-driver", address="10.0.0.7"
        )
        follower = JobModelFollower(self.store, self._epoch)
        with ExitStack() as handles:
            reporter = ProgressReporter(self.store, "r1", self._epoch, lambda: datetime.now(UTC))
            completed = LaunchedEpoch(
                store=self.store,
                follower=follower,
                reporter=reporter,
                lease=DriverLease(MemoryCluster(), environment, OWNER, lambda: NOW),
                health=self.health,
                make_host=lambda channel, app, launch: ThreadHost(channel),
                context=local_context(self.folder),
                state_folder=self.folder / "state",
                draining=self._draining,
                handles=handles,
                warn=lambda reason: None,
            ).run()
            reporter.phase(DriverPhase.COMPLETED if completed else DriverPhase.DRAINED)
            return completed
