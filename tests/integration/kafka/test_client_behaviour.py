"""The real clients on a real broker behave as the simulated ones."""

from contextlib import closing

import pytest

from conformance import kafka_clients
from streamapp_systems.kafka import KafkaAdmin
from support.behaviours import behaviours


@pytest.fixture
def admin(cluster):
    with closing(KafkaAdmin(cluster)) as admin:
        yield admin


@pytest.mark.parametrize("behaves", behaviours(kafka_clients))
def test_they_behave_as_the_simulated_ones(topics, admin, behaves):
    behaves(topics, admin)
