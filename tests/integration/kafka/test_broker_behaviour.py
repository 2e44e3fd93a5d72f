"""A real broker behaves as the simulated one: the same requests, the same answers."""

import uuid

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from conformance import kafka_broker, kafka_node
from conformance.kafka_broker import KafkaUnderTest
from support.behaviours import behaviours
from support.kafka_markers import cut_last_marker
from support.kafka_wire import WireNetwork

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


class RealNode:
    def __init__(self, broker, network):
        self.broker, self.network = broker, network

    def compact(self):
        """Do nothing: it does so all the time."""

    def restart(self, prepare=lambda: None):
        self.broker.kill()
        prepare()
        self.broker.start()
        self.network.reconnect()

    def commit_and_forget(self, *transactions):
        logs = []
        for producer, at in transactions:
            producer.commit(at)
            producer.end(commit=True)  # confirmed once the coordinator, too, has written that the markers are there
            logs.append(max((self.broker.data / f"{at.topic}-{at.partition}").glob("*.log")))
        self.restart(lambda: [cut_last_marker(log) for log in logs])


@pytest.mark.parametrize("behaves", behaviours(kafka_broker))
def test_it_answers_as_the_simulated_one(network, behaves):
    behaves(KafkaUnderTest(network, f"test-{uuid.uuid4().hex[:8]}"))


@pytest.mark.parametrize("behaves", behaviours(kafka_node))
def test_it_compacts_and_dies_as_the_simulated_one(broker, network, behaves):
    behaves(KafkaUnderTest(network, f"test-{uuid.uuid4().hex[:8]}"), RealNode(broker, network))
