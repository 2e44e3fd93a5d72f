"""An app that the Kubernetes operator has launched, run by its driver without a cluster: processors are threads."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime

from streamapp_core.deployment.app_record import RECORD, AcceptedSpec, AppRecord, Launch, LaunchCause
from streamapp_core.deployment.driver_reports import PROGRESS, ProgressReport
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.run_record import load_record
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.launched_epoch import TIMEOUTS, LaunchedEpoch
from streamapp_runtime.kubernetes.outage_waits import OutageWaits
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.log import LogAdmin
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from streamapp_systems.protocols import TransactionOwner
from support.kubernetes_api import MemoryCluster
from support.waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "app", "uid": "u1"}


class ThreadHost(InProcessHost):
    """A host that has an executor for everybody."""

    def keep(self, processors, model):
        """Nobody is released."""


class LaunchedApp:
    """The driver of an app's epoch: `with` it, the app runs, and is drained at the end."""

    def __init__(self, folder, document, counts, processors=1, *, api=None, epoch=1, namespace="team"):
        self.folder = folder
        self.api = api or MemoryCluster()
        self.store = ConfigMapMetadataStore(self.api, namespace, "app", owners=())
        self.warnings = []
        self.make_host = ThreadHost
        self.binding_seconds = 0.0
        self._namespace = namespace
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
        self._transactional_ids = model.transactional_ids
        expected = ABSENT if stored is None else stored.pointer_version
        write_job_model(self.store, model, epoch=epoch, expected=expected)

    def restarted(self, edited=None):
        """Return the driver of the next epoch, perhaps of another document."""
        document, *rest = self._of
        return LaunchedApp(
            self.folder, edited or document, *rest, api=self.api, epoch=self._epoch + 1, namespace=self._namespace
        )

    def __enter__(self):
        self._threads = ThreadPoolExecutor(1)
        self._ended = self._threads.submit(self._run)
        return self

    def __exit__(self, *_):
        self.drain()

    def stop(self):
        """Ask the driver to stop after a last commit."""
        self._draining.set()

    def drain(self):
        """Stop the driver after a last commit, and return whether the app had come to its end."""
        self.stop()
        try:
            return self._ended.result(60)
        finally:
            self._threads.shutdown()

    def bind(self, processor):
        """Write the next job model, in which a processor has an executor of its own, as the operator does."""
        stored = read_job_model(self.store)
        processors = {**stored.model.processors}
        processors[processor] = processors[processor].model_copy(update={"executor": f"e{processor}"})
        model = stored.model.model_copy(update={"processors": processors, "version": stored.model.version + 1})
        write_job_model(self.store, model, epoch=self._epoch, expected=stored.pointer_version)

    def lose_processor(self):
        """Have processor 0 lose its transactional id: it fails at its next commit."""
        (id_, *_) = self._transactional_ids
        with closing(LogAdmin(self.folder / "log.db")) as admin:
            admin.fence([TransactionOwner(id=id_, epoch=self._epoch)])

    @property
    def restarts(self):
        """The number of processors that were replaced."""
        return sum("is restarted" in line for line in self.health.summary.incidents)

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
            app="app", namespace=self._namespace, epoch=self._epoch, pod="app-driver", address="10.0.0.7"
        )
        follower = JobModelFollower(self.store, self._epoch)
        context = local_context(self.folder)
        outages = ApiServerOutages(self.warnings.append, context.clock.monotonic)
        with ExitStack() as handles:
            waits = OutageWaits(outages, self.health, context, TIMEOUTS)
            return LaunchedEpoch(
                store=self.store,
                follower=follower,
                reporter=waits.call("the start", self._reporter),
                lease=DriverLease(self.api, environment, OWNER, lambda: NOW),
                health=self.health,
                make_host=lambda channel, app, launch: self.make_host(channel),
                context=context,
                state_folder=self.folder / "state",
                draining=self._draining,
                handles=handles,
                outages=outages,
                waits=waits,
                binding_seconds=self.binding_seconds,
            ).run()

    def _reporter(self):
        return ProgressReporter(self.store, "r1", self._epoch, lambda: datetime.now(UTC))


class EndlessVisits:
    """Visits to the app of `support.side_input_files` by two customers, sent until one of both is in the results."""

    def __init__(self, app, hub):
        self._app, self._hub, self._sent = app, hub, 0

    def arrive(self):
        """Send visits, and return whether one that was sent has arrived."""
        first = self._sent + 1
        return eventually(lambda: self._send() and any(map(self._arrived, range(first, self._sent + 1))))

    def lose_processor(self):
        """Have processor 0 fail, and return whether it was replaced, and another visit has arrived."""
        before = self._app.restarts
        self._app.lose_processor()
        return eventually(lambda: self._send() and self._app.restarts > before) and self.arrive()

    def _send(self):
        assert not self._app.failed
        self._sent += 1
        self._hub.visit("ann", "bob", n=self._sent)
        return True

    def _arrived(self, n):
        return len(self._hub.cities(n)) == 2
