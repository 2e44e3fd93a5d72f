"""A real broker behaves as the simulated one: the same requests, the same answers."""

import uuid

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from conformance import kafka_broker
from conformance.kafka_broker import KafkaUnderTest
from support.behaviours import behaviours
from support.kafka_wire import WireNetwork

pytestmark = pytest.mark.xdist_group("broker behaviour")

HASTY = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100, "log.cleaner.backoff.ms": 100}
"""What a broker does by itself, it does at once."""


@pytest.fixture(scope="module")
def broker():
    with Broker(kafka_jars(default_cache()), settings=HASTY) as broker:
        yield broker


@pytest.fixture
def network(broker):
    network = WireNetwork(broker.bootstrap_servers)
    yield network
    network.close()


@pytest.mark.parametrize("behaves", behaviours(kafka_broker))
def test_it_behaves_as_the_simulated_one(network, behaves):
    behaves(KafkaUnderTest(network, f"test-{uuid.uuid4().hex[:8]}"))
