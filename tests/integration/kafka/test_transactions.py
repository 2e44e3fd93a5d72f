"""What is visible, and when: all of a transaction or nothing of it, and nothing of a producer that was replaced."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import Fenced, StreamSystemError
from support.kafka import ssp_of

ENDLESS_TRANSACTION = """
import sys
from support.kafka import Topics, cluster_at, ssp_of
address, prefix = sys.argv[1:]
topics = Topics(cluster_at(address), "")
topics.prefix = prefix
stream = topics.stream()
with topics.producer(stream) as producer:
    for number in range(5_000):
        producer.send(ssp_of(stream), b"zombie %d" % number, timestamp=1)
    producer._flush()
    print("sent", flush=True)
    sys.stdin.read()
"""


def test_keys_values_timestamps_and_tombstones_come_back(topics):
    stream = topics.create("s", 2, keyed=True)
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"v", key=b"k", timestamp=1_700_000_000_123)
        producer.send(ssp_of(stream), None, key=b"k", timestamp=5)
        producer.send(ssp_of(stream, 1), b"", key=b"", timestamp=-7)
        assert producer.commit() == {ssp_of(stream): 2, ssp_of(stream, 1): 1}
    parts = topics.read(stream)
    records = [tuple(message) for part in parts[ssp_of(stream)] for message in part.messages]
    assert records == [(0, 1_700_000_000_123, b"k", b"v"), (1, 5, b"k", None)]
    assert [tuple(message) for part in parts[ssp_of(stream, 1)] for message in part.messages] == [(0, 1, b"", b"")]


def test_each_partition_keeps_its_order_over_transactions(topics):
    stream = topics.create("s", 3)
    with topics.producer(stream) as producer:
        for number in range(9_000):
            producer.send(ssp_of(stream, number % 3), b"%d" % number, timestamp=1)
            if number % 2_000 == 1_999:
                producer.commit()
        producer.commit()
    for ssp, values in topics.values(stream).items():
        assert values == [b"%d" % number for number in range(ssp.partition, 9_000, 3)]


def test_reading_goes_on_at_the_offset_that_a_commit_gave(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"1", timestamp=1)
        after = producer.commit()
        producer.send(ssp_of(stream), b"2", timestamp=1)
        producer.commit()
    assert topics.values(stream, starts=after) == {ssp_of(stream): [b"2"]}


def test_nothing_is_visible_before_the_commit_or_after_an_abort(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        for _ in range(3_000):
            producer.send(ssp_of(stream), b"dropped", timestamp=1)
        with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer:
            assert consumer.poll([ssp_of(stream)], 10_000, 0.3) == []
        producer.abort()
        assert producer.commit() == {}
        producer.send(ssp_of(stream), b"kept", timestamp=1)
        producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"kept"]}


def test_a_closed_producer_has_aborted(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"dropped", timestamp=1)
    assert topics.values(stream) == {ssp_of(stream): []}


def test_of_a_killed_producer_nothing_is_visible(kafka, topics):
    stream = topics.create()
    command = [sys.executable, "-c", ENDLESS_TRANSACTION, kafka.bootstrap_servers, topics.prefix]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline() == "sent\n"
        process.send_signal(signal.SIGKILL)
    with topics.producer(stream, epoch=2) as producer:
        producer.send(ssp_of(stream), b"mine", timestamp=1)
        assert producer.commit()[ssp_of(stream)] > 5_000
    assert topics.values(stream) == {ssp_of(stream): [b"mine"]}


def test_a_later_owner_shuts_an_earlier_one_out(topics):
    stream = topics.create()
    with topics.producer(stream) as zombie:
        zombie.send(ssp_of(stream), b"zombie", timestamp=1)
        with topics.producer(stream, epoch=2) as producer:
            with pytest.raises(Fenced, match=r"producer .*writer: .*A later producer has taken over"):
                zombie.commit()
            with pytest.raises(Fenced):
                zombie.send(ssp_of(stream), b"zombie", timestamp=1)
            producer.send(ssp_of(stream), b"mine", timestamp=1)
            producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"mine"]}


def test_fenced_ids_can_not_commit_what_they_have_sent(cluster, topics):
    stream = topics.create()
    with topics.producer(stream, name="a") as first, topics.producer(stream, name="b") as second:
        for _ in range(2_000):
            first.send(ssp_of(stream), b"a", timestamp=1)
        second.send(ssp_of(stream), b"b", timestamp=1)
        with closing(KafkaAdmin(cluster)) as admin:
            admin.fence([topics.owner("a", 2), topics.owner("b", 2), topics.owner("never-used", 2)])
        for zombie in (first, second):
            with pytest.raises(Fenced):
                zombie.commit()
    assert topics.values(stream) == {ssp_of(stream): []}


def test_a_partition_that_is_not_there_is_refused_by_name(topics):
    stream = topics.create("s", 2)
    with topics.producer(stream, topics.stream("gone")) as producer:
        with pytest.raises(StreamSystemError, match=rf"kafka\.s\[2\]: .* no partition 2 of topic {stream.address}"):
            producer.send(ssp_of(stream, 2), b"", timestamp=1)
        with pytest.raises(StreamSystemError, match=r"kafka\.gone\[0\]: .* Create the topic first"):
            producer.send(ssp_of(topics.stream("gone")), b"", timestamp=1)
        with pytest.raises(StreamSystemError, match="not given when the producer was opened; there were gone, s"):
            producer.send(ssp_of(topics.stream("other")), b"", timestamp=1)


@pytest.mark.parametrize(
    "value, key, advice", [(b"x" * 2_000_000, b"k", r"max\.message\.bytes"), (b"x", None, "the record has no key")]
)
def test_after_a_refused_record_the_transaction_can_only_be_aborted(topics, value, key, advice):
    stream = topics.create(keyed=True)
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"before", key=b"k", timestamp=1)
        producer.send(ssp_of(stream), value, key=key, timestamp=1)
        for _ in range(2):
            with pytest.raises(StreamSystemError, match=advice):
                producer.commit()
        producer.abort()
        with pytest.raises(StreamSystemError, match=advice):
            producer.send(ssp_of(stream), b"after", key=b"k", timestamp=1)
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"after", key=b"k", timestamp=1)
        producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"after"]}


def test_more_than_fits_the_producers_memory_is_written_all_the_same(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        for number in range(100):
            producer.send(ssp_of(stream), b"%2d" % number * 400_000, timestamp=1)
        producer.commit()
    assert [value[:2] for value in topics.values(stream)[ssp_of(stream)]] == [b"%2d" % number for number in range(100)]
