"""The documents of a driver on Kubernetes: launches, job models, progress, locality; and its lease."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from streamapp_core.deployment.app_record import (
    RECORD,
    AcceptedSpec,
    AppRecord,
    EpochOutdatedError,
    Launch,
    LaunchCause,
)
from streamapp_core.deployment.driver_reports import LOCALITY, PROGRESS, DriverPhase, LocalityReport, ProgressReport
from streamapp_core.job_model.job_model import ProcessorModel
from streamapp_core.job_model.stored_job_model import write_job_model
from streamapp_core.metadata_store import ABSENT, InMemoryMetadataStore
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport, StateReport
from streamapp_runtime.spark.driver_environment import DriverEnvironment, read_environment
from streamapp_runtime.state.store_size import StoreSize
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support import job_models
from support.kubernetes_api import MemoryCluster

START = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "name": "delays", "uid": "u1"}
ENVIRONMENT = DriverEnvironment(app="delays", namespace="team", epoch=3, pod="delays-driver-3", address="10.0.0.7")


class Clock:
    def __init__(self):
        self.time = START

    def __call__(self):
        return self.time

    def sleep(self, seconds):
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def store():
    return InMemoryMetadataStore()


@pytest.fixture
def clock():
    return Clock()


def launch(store, epoch):
    version = {"app": "text", "run_id": "r1", "counts": {"flights": 6}}
    record = AppRecord(
        accepted=AcceptedSpec(generation=1, **version),
        launch=Launch(
            epoch=epoch, processors=2, executor_template={}, cause=LaunchCause.FIRST_START, at=START, **version
        ),
        apps={"text": "the app"},
    )
    store.put(RECORD, record.to_bytes())


def put(store, model, epoch):
    entry = store.get("job-model")
    write_job_model(store, model, epoch=epoch, expected=ABSENT if entry is None else entry.version)


def test_a_driver_reads_its_own_launch_and_no_other(store):
    launch(store, 3)
    assert JobModelFollower(store, 3).read_launched().text == "the app"
    launch(store, 4)
    with pytest.raises(EpochOutdatedError, match="epoch 3 is not active: epoch 4 is"):
        JobModelFollower(store, 3).read_launched()


def test_a_job_model_is_returned_once_and_only_if_it_is_of_this_epoch(store):
    follower = JobModelFollower(store, 3)
    assert follower.newer_model() is None
    put(store, job_models.example(version=7), 2)
    assert follower.newer_model() is None
    put(store, job_models.example(version=8), 3)
    assert follower.newer_model().version == 8
    assert follower.newer_model() is None
    put(store, job_models.example(version=9), 3)
    assert follower.newer_model().version == 9
    put(store, job_models.example(version=10), 4)
    with pytest.raises(EpochOutdatedError):
        follower.newer_model()


def summary(read, watermark=5, ended=0, role="input"):
    stream = StreamSummary(
        name="flights", role=role, partitions=6, ended=ended, read=read, total=None, watermark=watermark
    )
    return Summary(streams=(stream,), written={"out": read}, not_used={}, bad_rows=(), seconds=1.0)


def report(processor, tasks, *, opened=True, version=7):
    return ProcessorReport(
        incarnation=Incarnation(processor=processor, epoch=3, version=version, number=1),
        states={task: StateReport(kept=True, records=0, left=0) for task in tasks},
        opened=opened,
    )


def written(store):
    return ProgressReport.read(store, PROGRESS)


def seated():
    seats = {"0": ProcessorModel(location="node-a", executor="1"), "1": ProcessorModel(location="node-b", executor="2")}
    return job_models.example().model_copy(update={"processors": seats})


def test_progress_is_written_when_it_changes_and_rows_every_half_minute(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    reporter.phase(DriverPhase.RUNNING)
    living = {"0": report("0", ["Partition 0"])}
    reporter.progress(summary(10), seated(), living)
    assert (written(store).phase, written(store).running, written(store).version) == (DriverPhase.RUNNING, ("0",), 7)
    version = store.get(PROGRESS).version
    reporter.progress(summary(10), seated(), living)
    clock.sleep(29)
    larger = {"total": StoreSize(entries=3, bytes=4_096)}
    reporter.progress(msgspec.structs.replace(summary(20), state_sizes=larger), seated(), living)
    assert store.get(PROGRESS).version == version
    clock.sleep(1)
    reporter.progress(msgspec.structs.replace(summary(30), state_sizes=larger), seated(), living)
    assert written(store).streams["flights"].read == 30
    assert written(store).state["total"].entries == 3
    reporter.progress(summary(40), seated(), {})
    assert (written(store).running, written(store).streams["flights"].read) == ((), 40)


def test_a_phase_has_the_time_it_began_and_the_end_keeps_the_rows(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    reporter.phase(DriverPhase.RUNNING)
    clock.sleep(60)
    reporter.progress(summary(10), seated(), {"0": report("0", [])})
    assert written(store).since == START
    reporter.phase(DriverPhase.COMPLETED)
    assert written(store).since == START + timedelta(seconds=60)
    assert written(store).streams["out"].written == 10


def test_a_failure_is_reported(store, clock):
    ProgressReporter(store, "r1", 3, clock).phase(DriverPhase.FAILED, "topic flights does not exist")
    assert written(store).message == "topic flights does not exist"


def test_the_places_of_open_tasks_are_written_once_and_stay_while_a_processor_is_away(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    model = seated()
    reporter.progress(summary(0), model, {"0": report("0", ["Partition 0"], opened=False)})
    assert LocalityReport.read(store, LOCALITY) is None
    reports = {id_: report(id_, [f"Partition {n}" for n in range(6) if n % 2 == int(id_)]) for id_ in ("0", "1")}
    reporter.progress(summary(0), model, reports)
    found = LocalityReport.read(store, LOCALITY)
    assert found.locations == {"node-a": (0, 2, 4), "node-b": (1, 3, 5)}
    version = store.get(LOCALITY).version
    reporter.progress(summary(5), model, {"0": reports["0"]})
    assert store.get(LOCALITY).version == version


def test_a_watermark_that_stands_while_rows_come_is_reported_after_half_a_minute(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    for seconds in range(0, 50, 10):
        reporter.progress(summary(seconds), seated(), {"0": report("0", [])})
        clock.sleep(10)
    (stall,) = written(store).stalled
    assert (stall.stream, stall.since) == ("flights", START)


def test_a_stream_that_is_idle_after_a_last_row_is_not_stalled(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    for read in (10, 11, 12, 12, 12, 12, 12):
        reporter.progress(summary(read), seated(), {"0": report("0", [])})
        assert written(store).stalled == ()
        clock.sleep(10)


def test_a_side_input_has_no_watermark_that_could_stand(store, clock):
    reporter = ProgressReporter(store, "r1", 3, clock)
    for seconds in range(0, 50, 10):
        reporter.progress(summary(seconds, watermark=None, role="sideInput"), seated(), {"0": report("0", [])})
        clock.sleep(10)
    assert written(store).stalled == ()


def test_a_lease_is_made_and_renewed(clock):
    cluster = MemoryCluster()
    lease = DriverLease(cluster, ENVIRONMENT, OWNER, clock)
    lease.renew()
    clock.sleep(10)
    lease.renew()
    found = cluster.get(Kind.LEASE, "team", "delays-driver")
    assert found["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert found["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"
    assert found["metadata"]["ownerReferences"] == [OWNER]


def test_the_environment_says_who_the_driver_is():
    variables = {
        "STREAMAPP_APP": "delays",
        "STREAMAPP_NAMESPACE": "team",
        "STREAMAPP_EPOCH": "3",
        "STREAMAPP_POD_NAME": "delays-driver-3",
        "STREAMAPP_POD_IP": "10.0.0.7",
    }
    assert read_environment(variables) == ENVIRONMENT
    assert ENVIRONMENT.host == "delays-driver-3.delays-driver.team.svc"
    with pytest.raises(RuntimeFailure, match="lacks 'STREAMAPP_EPOCH'"):
        read_environment({name: value for name, value in variables.items() if name != "STREAMAPP_EPOCH"})
