"""A transaction that fails while records still come says why: the way on depends on it."""

import time

import pytest

from streamapp_systems.protocols import Fenced, SentRecords, StreamSystemError
from support.kafka import DEADLINE, ssp_of


def send_until_refused(producer, stream):
    """Send records, as a processor does that has much to write, until the producer takes none any more."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        producer.send_all(ssp_of(stream), SentRecords.of(timestamps=None, keys=[b"k"] * 10, values=[b"v"] * 10))
        time.sleep(0.01)


def test_what_the_brokers_refused_is_told_to_who_sends_on(topics):
    stream = topics.create(keyed=True)
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"without a key", timestamp=1)
        with pytest.raises(StreamSystemError, match="The topic is compacted, and the record has no key"):
            send_until_refused(producer, stream)
    assert topics.values(stream) == {ssp_of(stream): []}


def test_who_was_fenced_while_it_sends_learns_that_it_was(topics):
    stream = topics.create()
    with topics.producer(stream) as zombie:
        zombie.send(ssp_of(stream), b"zombie", timestamp=1)
        with topics.producer(stream, epoch=2):
            pass
        with pytest.raises(Fenced, match="A later producer has taken over this id"):
            send_until_refused(zombie, stream)
    assert topics.values(stream) == {ssp_of(stream): []}


def test_large_records_that_come_at_once_wait_for_each_other(topics):
    stream, count = topics.create(), 300
    records = SentRecords.of(timestamps=None, keys=[None] * count, values=[b"x" * 900_000] * count)
    with topics.producer(stream) as producer:
        producer.send_all(ssp_of(stream), records)
        assert producer.commit() == {ssp_of(stream): count}
