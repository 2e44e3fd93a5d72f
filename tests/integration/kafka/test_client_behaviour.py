"""The real clients on a real broker behave as the simulated ones."""

from contextlib import closing, nullcontext

import pytest

from conformance import kafka_clients, kafka_record_columns
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.native.library import without_native_library
from support.behaviours import behaviours


@pytest.fixture
def admin(cluster):
    with closing(KafkaAdmin(cluster)) as admin:
        yield admin


@pytest.mark.parametrize("behaves", behaviours(kafka_clients))
def test_they_behave_as_the_simulated_ones(topics, admin, behaves):
    behaves(topics, admin)


@pytest.mark.parametrize("behaves", behaviours(kafka_record_columns))
@pytest.mark.parametrize("natively", [True, False])
def test_many_records_are_written_natively_and_otherwise(topics, behaves, natively):
    with nullcontext() if natively else without_native_library():
        behaves(topics)
