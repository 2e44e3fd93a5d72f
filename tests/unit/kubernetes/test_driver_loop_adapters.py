"""The ports of the driver's loop on Kubernetes: job models from documents, progress to documents, lease and pages."""

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from streamapp_core.deployment.app_record import RECORD, AcceptedSpec, AppRecord, Launch, LaunchCause
from streamapp_core.deployment.driver_reports import PROGRESS, DriverPhase, ProgressReport
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import write_job_model
from streamapp_core.metadata_store import ABSENT, InMemoryMetadataStore
from streamapp_runtime.driver.driver_loop import Progress
from streamapp_runtime.driver.run_record import RunRecord, Summary
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_loop_adapters import FollowedJobModels, KubernetesProgressListener
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesError
from support import plan_documents
from support.kubernetes_api import MemoryCluster
from support.supervision import OPERATORS, planned, scaled

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = json.dumps(plan_documents.document(OPERATORS, streams={"in": "k int", "out": {}}))
SUMMARY = Summary(streams=(), written={"out": 3}, not_used={}, bad_rows=(), seconds=1.0)


class AwayStore(InMemoryMetadataStore):
    """A store whose API server may be away."""

    away = False

    def get(self, key):
        self._answer()
        return super().get(key)

    def put(self, *arguments, **options):
        self._answer()
        return super().put(*arguments, **options)

    def _answer(self):
        if self.away:
            raise KubernetesError("no answer")


class Executors:
    def __init__(self):
        self.kept = []

    def keep(self, processors, model):
        self.kept.append((processors, model.version))


@pytest.fixture
def store():
    return AwayStore()


@pytest.fixture
def warnings():
    return []


def launch(store, processors):
    version = {"app": "text", "run_id": "r1", "counts": {"in": 6, "out": 1}}
    launched = Launch(
        epoch=3, processors=processors, executor_template={}, cause=LaunchCause.FIRST_START, at=NOW, **version
    )
    record = AppRecord(accepted=AcceptedSpec(generation=1, **version), launch=launched, apps={"text": TEXT})
    store.put(RECORD, record.to_bytes())


def write(store, run):
    entry = store.get(POINTER)
    write_job_model(store, run.model, epoch=3, expected=ABSENT if entry is None else entry.version)


class TestJobModels:
    @pytest.fixture
    def seconds(self):
        return [0.0]

    @pytest.fixture
    def executors(self):
        return Executors()

    @pytest.fixture
    def job_models(self, store, executors, warnings, seconds):
        launch(store, 2)
        write(store, planned())
        follower = JobModelFollower(store, 3)
        assert follower.newer_model().version == 1
        return FollowedJobModels(follower.read_launched(), follower, executors, warnings.append, lambda: seconds[0])

    def test_they_are_read_once_a_second(self, store, job_models, seconds):
        grown = scaled(planned(), 3)
        write(store, grown)
        assert job_models.poll(planned()) is None
        seconds[0] = 1.0
        change = job_models.poll(planned())
        assert (change.model, change.plan.run_id, change.counts) == (grown.model, "r1", {"in": 6, "out": 1})
        seconds[0] = 2.0
        assert job_models.poll(change) is None

    def test_the_host_keeps_the_number_of_executors_that_was_launched(self, store, job_models, executors, seconds):
        for processors in (2, 3, 3):
            launch(store, processors)
            seconds[0] += 1.0
            job_models.poll(planned())
        assert executors.kept == [(3, 1)]

    def test_an_api_server_that_is_away_is_asked_again(self, store, job_models, warnings, seconds):
        write(store, scaled(planned(), 3))
        store.away = True
        seconds[0] = 1.0
        assert job_models.poll(planned()) is None
        assert warnings == ["the API server can't be asked: no answer"]
        store.away = False
        seconds[0] = 2.0
        assert job_models.poll(planned()).model.version == 2


class TestProgress:
    @pytest.fixture
    def cluster(self):
        return MemoryCluster()

    @pytest.fixture
    def seconds(self):
        return [0.0]

    @pytest.fixture
    def health(self, seconds):
        return DriverHealth(lambda: seconds[0])

    @pytest.fixture
    def reported(self, store, cluster, health, warnings, seconds):
        environment = DriverEnvironment(app="app", namespace="team", epoch=3, pod="app-driver-3", address="10.0.0.7")
        owner = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "app", "uid": "u1"}
        lease = DriverLease(cluster, environment, owner, lambda: NOW)
        reporter = ProgressReporter(store, "r1", 3, lambda: NOW)
        return KubernetesProgressListener(reporter, lease, health, warnings.append, lambda: seconds[0])

    @staticmethod
    def progress(*opened, draining=False):
        living = {
            str(id_): ProcessorReport(
                incarnation=Incarnation(processor=str(id_), epoch=3, version=1, number=id_ + 1), opened=is_open
            )
            for id_, is_open in enumerate(opened)
        }
        return Progress(
            run=planned(),
            record=RunRecord(run_id="r1", epoch=3, spec="{}", ends={}, files={}, made={}, outdated={}),
            summary=SUMMARY,
            incidents=("an incident",),
            living=living,
            draining=draining,
        )

    @pytest.mark.parametrize(
        ("opened", "draining", "phase", "ready"),
        [
            ((), False, DriverPhase.STARTING, False),
            ((True, False), False, DriverPhase.STARTING, False),
            ((True, True), False, DriverPhase.RUNNING, True),
            ((True, True), True, DriverPhase.DRAINING, True),
        ],
    )
    def test_a_driver_runs_when_all_its_processors_have_opened_their_tasks(
        self, reported, store, health, opened, draining, phase, ready
    ):
        reported.report(self.progress(*opened, draining=draining))
        assert ProgressReport.read(store, PROGRESS).phase is phase
        assert health.ready is ready
        assert health.summary == replace(SUMMARY, incidents=("an incident",))

    def test_the_lease_is_renewed_every_ten_seconds_while_processors_report(self, reported, cluster, seconds):
        seconds[0] = 9.0
        reported.report(self.progress(True))
        assert cluster.get(Kind.LEASE, "team", "app-driver") is None
        seconds[0] = 10.0
        reported.report(self.progress())
        assert cluster.get(Kind.LEASE, "team", "app-driver") is None
        reported.report(self.progress(True))
        assert cluster.get(Kind.LEASE, "team", "app-driver")["spec"]["holderIdentity"] == "app-driver-3"

    def test_progress_that_can_not_be_written_is_no_failure(self, reported, store, health, warnings):
        store.away = True
        reported.report(self.progress(True))
        assert warnings == ["progress can't be reported: no answer"]
        assert health.ready
