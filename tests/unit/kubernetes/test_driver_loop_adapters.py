"""The ports of the driver's loop on Kubernetes: job models from documents, progress to documents, lease and pages."""

import json
import re
from concurrent.futures import Future
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from msgspec.structs import replace

from streamapp_core.deployment.app_record import (
    RECORD,
    AcceptedSpec,
    AppRecord,
    EpochOutdatedError,
    Launch,
    LaunchCause,
)
from streamapp_core.deployment.driver_reports import PROGRESS, DriverPhase, ProgressReport
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import write_job_model
from streamapp_core.metadata_store import ABSENT, InMemoryMetadataStore
from streamapp_runtime.driver.driver_loop import Progress
from streamapp_runtime.driver.run_record import RunRecord, Summary
from streamapp_runtime.errors import Superseded
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_loop_adapters import FollowedJobModels, KubernetesProgressListener
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_api import Kind, ServerUnavailableError
from support import plan_documents
from support.kubernetes_api import MemoryCluster
from support.supervision import OPERATORS, planned, scaled

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = json.dumps(plan_documents.document(OPERATORS, streams={"in": "k int", "out": {}}))
SUMMARY = Summary(streams=(), written={"out": 3}, not_used={}, bad_rows=(), seconds=1.0)


class AwayStore(InMemoryMetadataStore):
    """A store whose API server may be away."""

    away = False
    listener = staticmethod(lambda: None)

    def get(self, key):
        self._answer()
        return super().get(key)

    def put(self, *arguments, **options):
        self._answer()
        return super().put(*arguments, **options)

    def _answer(self):
        self.listener()
        if self.away:
            raise ServerUnavailableError("no answer")


class Held:
    """Threads that run at once or, while they are `stuck`, when `release` says so."""

    def __init__(self):
        self.stuck = False
        self._held = []

    def start(self, _, function):
        future = Future()

        def run():
            try:
                future.set_result(function())
            except Exception as error:  # noqa: BLE001 - whoever waits decides
                future.set_exception(error)

        self._held.append(run)
        if not self.stuck:
            self.release()
        return future

    def release(self):
        while self._held:
            self._held.pop()()

    def wait(self, futures, seconds, *, first=False):
        self.release()


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


@pytest.fixture
def seconds():
    return [0.0]


@pytest.fixture
def threads():
    return Held()


@pytest.fixture
def outages(warnings, seconds):
    return ApiServerOutages(warnings.append, lambda: seconds[0])


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
    def executors(self):
        return Executors()

    @pytest.fixture
    def job_models(self, store, executors, outages, threads, seconds):
        launch(store, 2)
        write(store, planned())
        follower = JobModelFollower(store, 3)
        assert follower.newer_model().version == 1
        launched = follower.read_launched()
        return FollowedJobModels(
            launched, follower, executors, outages=outages, threads=threads, clock=lambda: seconds[0]
        )

    def test_they_are_read_once_a_second(self, store, job_models, seconds):
        grown = scaled(planned(), 3)
        write(store, grown)
        assert job_models.poll(planned()) is None
        seconds[0] = 1.0
        assert job_models.poll(planned()) is None
        change = job_models.poll(planned())
        assert (change.model, change.plan.run_id, change.counts) == (grown.model, "r1", {"in": 6, "out": 1})
        seconds[0] = 2.0
        job_models.poll(change)
        assert job_models.poll(change) is None

    def test_the_host_keeps_the_number_of_executors_that_was_launched(self, store, job_models, executors, seconds):
        for processors in (2, 3, 3):
            launch(store, processors)
            seconds[0] += 1.0
            job_models.poll(planned())
            job_models.poll(planned())
        assert executors.kept == [(3, 1)]

    def test_an_api_server_that_is_away_is_asked_again_at_longer_intervals_and_told_of_once(
        self, store, job_models, outages, warnings, seconds
    ):
        write(store, scaled(planned(), 3))
        store.away = True
        asked = []
        store.listener = lambda: asked.append(seconds[0])
        for second in range(1, 100):
            seconds[0] = float(second)
            assert job_models.poll(planned()) is None
        assert [later - earlier for earlier, later in pairwise(asked)] == [2.0, 3.0, 5.0, 9.0, 17.0, 31.0, 31.0]
        store.away = False
        changes = []
        for second in range(100, 140):
            seconds[0] = float(second)
            changes.append(job_models.poll(planned()))
        assert [change.model.version for change in changes if change is not None] == [2]
        assert list(outages.incidents) == warnings
        waits, continues = warnings
        assert waits == "the follower of job models waits for the API server: no answer"
        assert re.fullmatch(r"the follower of job models continues after 1\d\d s without the API server", continues)

    def test_one_that_does_not_answer_is_not_waited_for(self, store, job_models, threads, seconds):
        write(store, scaled(planned(), 3))
        threads.stuck = True
        for second in range(1, 100):
            seconds[0] = float(second)
            assert job_models.poll(planned()) is None
        threads.release()
        assert job_models.poll(planned()).model.version == 2

    @pytest.mark.parametrize("damaged", [RECORD, POINTER])
    def test_a_damaged_document_ends_nothing_here(self, store, job_models, warnings, seconds, damaged):
        store.put(damaged, b"{")
        for second in range(1, 4):
            seconds[0] = float(second)
            assert job_models.poll(planned()) is None
        assert len(warnings) == 1

    def test_another_epoch_is_told_at_once(self, store, job_models, seconds):
        record = AppRecord.read(store, RECORD)
        launched = record.launch.model_copy(update={"epoch": 4})
        store.put(RECORD, record.model_copy(update={"launch": launched}).to_bytes())
        seconds[0] = 1.0
        job_models.poll(planned())
        with pytest.raises(EpochOutdatedError, match="epoch 4 is"):
            job_models.poll(planned())


def test_the_check_of_the_epoch_leaves_it_to_the_coordinator_stream_while_the_api_server_is_away(store):
    launch(store, 2)
    store.away = True
    JobModelFollower(store, 3).check()
    JobModelFollower(store, 2).check()
    store.away = False
    JobModelFollower(store, 3).check()
    with pytest.raises(Superseded, match="epoch 2 is not active: epoch 3 is"):
        JobModelFollower(store, 2).check()


class TestProgress:
    @pytest.fixture
    def cluster(self):
        return MemoryCluster()

    @pytest.fixture
    def health(self, seconds):
        return DriverHealth(lambda: seconds[0])

    @pytest.fixture
    def reported(self, store, cluster, health, outages, threads, seconds):
        environment = DriverEnvironment(app="app", namespace="team", epoch=3, pod="app-driver-3", address="10.0.0.7")
        owner = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "app", "uid": "u1"}
        lease = DriverLease(cluster, environment, owner, lambda: NOW)
        reporter = ProgressReporter(store, "r1", 3, lambda: NOW)
        return KubernetesProgressListener(
            reporter, lease, health, outages=outages, threads=threads, clock=lambda: seconds[0]
        )

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
            summary=replace(SUMMARY, incidents=("an incident",)),
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

    def test_progress_that_can_not_be_written_is_no_failure_and_is_shown(
        self, reported, store, health, outages, warnings, seconds
    ):
        store.away = True
        for _ in range(3):
            reported.report(self.progress(True))
        assert warnings == ["the report of progress waits for the API server: no answer"]
        assert health.ready
        assert health.summary.incidents == ("an incident", *warnings)
        store.away = False
        seconds[0] = 60.0
        for _ in range(2):
            reported.report(self.progress(True))
        assert ProgressReport.read(store, PROGRESS).phase is DriverPhase.RUNNING
        assert health.summary.incidents[-1] == "the report of progress continues after 60 s without the API server"

    def test_the_loop_turns_while_a_report_is_stuck_and_the_report_of_the_end_comes_last(
        self, reported, store, health, threads, seconds
    ):
        threads.stuck = True
        for second in range(100):
            seconds[0] = float(second)
            reported.report(self.progress(True))
            assert health.alive
        assert store.get(PROGRESS) is None
        reported.finish()
        assert ProgressReport.read(store, PROGRESS).phase is DriverPhase.RUNNING
        threads.release()
        assert ProgressReport.read(store, PROGRESS).phase is DriverPhase.RUNNING

    def test_a_phase_that_could_not_be_written_is_written_at_the_next_attempt(self, store):
        reporter = ProgressReporter(store, "r1", 3, lambda: NOW)
        reporter.phase(DriverPhase.RUNNING)
        store.away = True
        with pytest.raises(ServerUnavailableError):
            reporter.phase(DriverPhase.COMPLETED)
        store.away = False
        reporter.phase(DriverPhase.COMPLETED)
        assert ProgressReport.read(store, PROGRESS).phase is DriverPhase.COMPLETED
