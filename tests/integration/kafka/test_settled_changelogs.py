"""A changelog is read when nothing in it waits for the brokers any more: what was committed is all there."""

import threading
import time
from contextlib import closing

import pytest
from confluent_kafka import Producer

from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer
from support.kafka import DEADLINE, ssp_of


@pytest.fixture
def stream(topics):
    return topics.create(keyed=True)


@pytest.fixture
def reader(topics, stream):
    with closing(KafkaAdmin(topics.cluster)) as admin, closing(KafkaConsumer(topics.cluster, [stream])) as consumer:
        yield ChangelogPartitionReader(admin, consumer, stream, ssp_of(stream).partition)


@pytest.fixture
def transaction(topics, stream):
    """Give the producer of a transaction that is open, with a record at the broker."""
    settings = {"transactional.id": topics.owner().id, "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": topics.cluster.bootstrap_servers, **settings})
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    producer.produce(stream.address, b"value", b"key", 0)
    producer.flush(DEADLINE)
    return producer


class Clock:
    """Goes on by each sleep, which tells that somebody waits."""

    def __init__(self):
        self.now = 0.0
        self.slept = threading.Semaphore(0)

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.slept.release()


def test_it_waits_until_a_transaction_is_settled_and_then_has_all_of_it(reader, transaction):
    clock, answers = Clock(), []
    waiting = threading.Thread(
        target=lambda: answers.append(reader.wait_until_readable(clock, clock.sleep, float("inf")))
    )
    waiting.start()
    assert clock.slept.acquire(timeout=DEADLINE)
    assert reader.end() == 0
    transaction.commit_transaction(DEADLINE)
    waiting.join(DEADLINE)
    assert answers == [True]
    assert [message.value for messages in reader.read(0, reader.end()) for message in messages] == [b"value"]


def test_it_does_not_wait_for_ever(reader, transaction):
    clock = Clock()
    assert not reader.wait_until_readable(clock, clock.sleep, 5.0)
    transaction.abort_transaction(DEADLINE)
    assert reader.wait_until_readable(time.monotonic, time.sleep, DEADLINE)
