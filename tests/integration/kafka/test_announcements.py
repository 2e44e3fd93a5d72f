"""The announcement of a driver: whoever reads after it finds it, however late the brokers make it readable."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from streamapp_core.spec.parse import parse_document
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.clock import Clock, system_clock
from streamapp_systems.coordinator_stream import DriverRecord, coordinator_stream
from streamapp_systems.protocols import Unavailable
from streamapp_systems.registry import local_systems
from support import job_models
from support.kafka import DEADLINE, SYSTEM
from support.plan_documents import document

NOW = 1_700_000_000_000
MODEL = job_models.example()


class Time:
    """Real time; it tells when somebody waits for the first time."""

    def __init__(self):
        self.slept = threading.Event()
        self.clock = Clock(monotonic=time.monotonic, sleep=self._sleep, time_of_day=lambda: NOW)

    def _sleep(self, seconds):
        self.slept.set()
        time.sleep(seconds)


class QuickTime:
    """Goes on by each sleep, a hundred times as far."""

    def __init__(self):
        self._now = 0.0
        self.clock = Clock(monotonic=lambda: self._now, sleep=self._sleep, time_of_day=lambda: NOW)

    def _sleep(self, seconds):
        self._now += 100 * seconds


@pytest.fixture
def app(topics):
    spec = document([{"name": "sent", "from": "in", "sendTo": "out"}], streams={"in": "k int", "out": {}})
    spec["metadata"]["name"] = topics.prefix[-40:].strip("-")
    spec["spec"]["systems"] = {
        SYSTEM: {"kafka": {"bootstrapServers": topics.cluster.bootstrap_servers}},
        **spec["spec"]["systems"],
    }
    return parse_document(spec).app


def record(epoch):
    return DriverRecord(epoch=epoch, run_id="r1", made={})


@pytest.fixture(params=[0, 1])
def transaction(topics, app, tmp_path, request):
    """Give somebody's open transaction in one of the partitions: what follows it can't be read before it ends."""
    Coordinator(app, SYSTEM, local_systems(tmp_path)).announce(record(1), MODEL, system_clock())
    settings = {"transactional.id": topics.owner().id, "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": topics.cluster.bootstrap_servers, **settings})
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    producer.produce(coordinator_stream(app, SYSTEM).address, b"{}", b"other", request.param)
    producer.flush(DEADLINE)
    return producer


def test_a_driver_goes_on_when_its_announcement_can_be_read(app, tmp_path, transaction):
    clock = Time()
    coordinator = Coordinator(app, SYSTEM, local_systems(tmp_path))
    with ThreadPoolExecutor(1) as threads:
        announced = threads.submit(coordinator.announce, record(2), MODEL, clock.clock)
        assert clock.slept.wait(DEADLINE)
        transaction.abort_transaction(DEADLINE)
        announced.result(DEADLINE)
    assert coordinator.newest() == record(2)
    assert coordinator.job_model() == MODEL


def test_it_is_an_outage_if_it_stays_unreadable(app, tmp_path, transaction):
    coordinator = Coordinator(app, SYSTEM, local_systems(tmp_path))
    with pytest.raises(Unavailable, match="can't be read after 60 s: another transaction is open in this stream"):
        coordinator.announce(record(2), MODEL, QuickTime().clock)
    transaction.abort_transaction(DEADLINE)
    coordinator.announce(record(2), MODEL, system_clock())
