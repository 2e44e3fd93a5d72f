"""Topics and partitions that a broker does not know yet: each learns of them by itself, one that stood still later."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer, KafkaProducer
from support.waiting import nothing_for

_LATE = 1.0
"""Seconds after which a change is made: later than the first question, and earlier than a broker may learn of it."""


@pytest.fixture
def later(cluster):
    with ThreadPoolExecutor(1) as pool, closing(KafkaAdmin(cluster)) as admin:

        def do(change):
            def wait():
                nothing_for(_LATE)
                change(admin)

            return pool.submit(wait)

        yield do


def create(admin, stream):
    admin.create({stream: 2})


def expand(admin, stream):
    admin.expand(stream, 2)


@pytest.fixture(params=[create, expand])
def late_partition(request, topics, later):
    """Return a stream, its second partition, and what begins to make that."""
    stream = topics.create("s", 1) if request.param is expand else topics.stream("s")
    return stream, Ssp(stream.system, stream.name, 1), lambda: later(lambda admin: request.param(admin, stream))


def test_a_partition_is_waited_for_before_it_is_written(cluster, topics, late_partition):
    stream, ssp, make = late_partition
    with closing(KafkaProducer(cluster, [stream], topics.owner())) as producer:
        made = make()
        producer.send(ssp, b"value", timestamp=1)
        assert producer.commit() == {ssp: 1}
    made.result()


def test_a_partition_is_waited_for_before_it_is_read(cluster, late_partition):
    stream, ssp, make = late_partition
    with closing(KafkaConsumer(cluster, [stream])) as consumer:
        made = make()
        consumer.assign({ssp: 0}, {})
    made.result()


@pytest.mark.parametrize("ask", [KafkaAdmin.start_offsets, KafkaAdmin.end_offsets, KafkaAdmin.written_offsets])
def test_offsets_of_a_new_topic_are_waited_for(cluster, topics, later, ask):
    stream = topics.stream("s")
    with closing(KafkaAdmin(cluster)) as admin:
        made = later(lambda other: create(other, stream))
        assert ask(admin, [stream]) == {Ssp(stream.system, stream.name, partition): 0 for partition in range(2)}
    made.result()


def test_the_identity_of_a_new_topic_is_waited_for(cluster, topics, later):
    stream = topics.stream("s")
    with closing(KafkaAdmin(cluster)) as admin:
        made = later(lambda other: create(other, stream))
        assert admin.identities([stream])["s"] != ""
    made.result()
