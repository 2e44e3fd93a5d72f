"""The simulated broker behaves as a real one does: the suite is the one that a real one runs."""

import pytest

from conformance import kafka_broker, kafka_node
from conformance.kafka_broker import KafkaUnderTest
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_network import DirectNetwork, VirtualTime
from support.behaviours import behaviours


class SimulatedNode:
    def __init__(self, network):
        self.network, self.broker = network, network.broker

    def compact(self):
        self.broker.compact(self.network.now())

    def restart(self):
        self.broker.die()
        self.broker.start()

    def commit_and_forget(self, *transactions):
        for producer, _ in transactions:
            self.broker.handle(producer.ending(True), self.network.now())
        self.broker.die(forgets=lambda _at, _commit: True)
        self.broker.start()


@pytest.fixture(params=[0, 50])
def network(request):
    return DirectNetwork(SimulatedBroker(), VirtualTime(), marker_delay_ms=lambda: request.param)


@pytest.mark.parametrize("behaves", behaviours(kafka_broker))
def test_it_answers_as_kafka(network, behaves):
    behaves(KafkaUnderTest(network))


@pytest.mark.parametrize("behaves", behaviours(kafka_node))
def test_it_compacts_and_dies_as_kafka(network, behaves):
    behaves(KafkaUnderTest(network), SimulatedNode(network))
