"""The simulated clients behave as the real ones: the suite is the one that those run."""

import pytest

from conformance import kafka_clients, kafka_record_columns
from simulation.simulated_admin import SimulatedAdmin
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_consumer import SimulatedConsumer
from simulation.simulated_network import DirectNetwork, VirtualTime
from simulation.simulated_producer import SimulatedProducer
from support.behaviours import behaviours
from support.kafka import Topics, cluster_at


class SimulatedClients:
    def __init__(self, cluster, delay):
        self.cluster = cluster
        self.network = DirectNetwork(SimulatedBroker(), VirtualTime(), marker_delay_ms=lambda: delay)

    def open_admin(self):
        return SimulatedAdmin(self.network, self.cluster)

    def open_consumer(self, streams):
        return SimulatedConsumer(self.network, self.cluster, streams)

    def open_producer(self, streams, owner):
        return SimulatedProducer(self.network, self.cluster, streams, owner)


@pytest.mark.parametrize("delay", [0, 50])
@pytest.mark.parametrize("behaves", behaviours(kafka_clients))
def test_they_behave_as_the_real_ones(behaves, delay):
    clients = SimulatedClients(cluster_at("simulated:9092"), delay)
    behaves(Topics(clients.cluster, "test", clients), clients.open_admin())


@pytest.mark.parametrize("behaves", behaviours(kafka_record_columns))
def test_many_records_are_written_as_by_the_real_ones(behaves):
    behaves(Topics(cluster_at("simulated:9092"), "test", SimulatedClients(cluster_at("simulated:9092"), 0)))
