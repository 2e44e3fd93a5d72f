"""Topics that somebody deletes under who reads them: another one of that name would be read from its middle."""

import time
from contextlib import closing

import pytest

from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError
from support.kafka import DEADLINE, ssp_of, values_of


@pytest.fixture
def topics(topics_of_each_source):
    return topics_of_each_source


def read_until_refused(consumer, stream):
    deadline = time.monotonic() + 3 * DEADLINE
    while time.monotonic() < deadline:
        assert values_of(consumer.poll([ssp_of(stream)], 1_000, 0.2)) == []


def test_who_reads_a_topic_hears_that_it_was_deleted_though_no_record_is_missed_yet(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"read", timestamp=1)
        producer.commit()
    with (
        topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer,
        closing(KafkaAdmin(topics.cluster)) as admin,
    ):
        assert values_of(consumer.poll([ssp_of(stream)], 10, DEADLINE)) == [b"read"]
        admin.delete([stream])
        with pytest.raises(StreamSystemError, match=rf"topic {stream.address} was deleted while it was read"):
            read_until_refused(consumer, stream)
