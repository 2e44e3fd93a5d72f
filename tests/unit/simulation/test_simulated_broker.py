"""The simulated broker behaves as a real one does; what can't be provoked on a real one is checked here alone."""

import pytest

from conformance import kafka_broker
from conformance.kafka_broker import KafkaUnderTest
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_network import DirectNetwork, VirtualTime
from support.behaviours import behaviours


@pytest.mark.parametrize("delay", [0, 50])
@pytest.mark.parametrize("behaves", behaviours(kafka_broker))
def test_it_behaves_as_kafka(behaves, delay):
    behaves(KafkaUnderTest(DirectNetwork(SimulatedBroker(), VirtualTime(), marker_delay_ms=lambda: delay)))
