"""Reading: bounds over gaps, subsets of partitions, memory, and what can't be read."""

import os
import random
import resource
import time
from contextlib import closing

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from streamapp_systems.kafka import KafkaConsumer
from streamapp_systems.kafka.consumer import BUFFERED_BYTES, MAXIMUM_BYTES
from streamapp_systems.protocols import StreamSystemError
from support.kafka import DEADLINE, ssp_of, until_ended, values_of


def write(topics, stream, values, *, aborted=0, partition=0):
    with topics.producer(stream) as producer:
        for value in values:
            producer.send(ssp_of(stream, partition), value, timestamp=1)
        producer.commit()
        for _ in range(aborted):
            producer.send(ssp_of(stream, partition), b"dropped", timestamp=1)
        producer.abort()


def test_a_bounded_partition_ends_though_its_last_offsets_hold_nothing(topics):
    stream = topics.create()
    write(topics, stream, [b"1", b"2"], aborted=3_000)
    ends = topics.ends(stream)
    assert ends[ssp_of(stream)] > 3_000
    parts = topics.read(stream)[ssp_of(stream)]
    assert values_of(parts) == [b"1", b"2"]
    assert [part.ended for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].next_offset == ends[ssp_of(stream)]


def test_a_bound_between_records_holds_while_more_are_there(topics):
    stream = topics.create()
    write(topics, stream, [b"%d" % number for number in range(2_000)])
    end = {ssp_of(stream): 1_234}
    assert topics.values(stream, ends=end)[ssp_of(stream)] == [b"%d" % number for number in range(1_234)]


def test_a_partition_that_is_read_already_ends_at_once_and_is_then_silent(topics):
    stream = topics.create("s", 2)
    write(topics, stream, [b"1"])
    ends = topics.ends(stream)
    with topics.consumer(ends, ends, stream) as consumer:
        (first, second) = consumer.poll(list(ends), 10, DEADLINE)
        assert first.ended
        assert second.ended
        assert consumer.poll(list(ends), 10, DEADLINE) == ()


def test_parts_follow_each_other_without_a_break(topics):
    stream = topics.create("s", 3)
    for partition in range(3):
        write(topics, stream, [b"%d" % number for number in range(3_000)], aborted=10, partition=partition)
    for parts in topics.read(stream, max_rows=500).values():
        assert [part.offset for part in parts] == [0, *(part.next_offset for part in parts[:-1])]
        for part in parts:
            assert all(part.offset <= message.offset < part.next_offset for message in part.messages)


def test_one_poll_brings_no_more_rows_than_asked(topics):
    stream = topics.create("s", 4)
    for partition in range(4):
        write(topics, stream, [b"x"] * 4_000, partition=partition)
    parts = topics.read(stream, max_rows=700)
    assert {len(values_of(found)) for found in parts.values()} == {4_000}
    assert all(len(part.messages) <= 700 for found in parts.values() for part in found)


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_subsets_brings_every_record_once_and_in_order(topics, seed):
    chance = random.Random(seed)
    stream = topics.create("s", 4)
    size = 600
    for partition in range(4):
        values = [b"%06d" % number + b"x" * size for number in range(15_000 if partition else 60_000)]
        write(topics, stream, values, aborted=100, partition=partition)
    ends = topics.ends(stream)
    parts = {ssp: [] for ssp in ends}
    with topics.consumer(dict.fromkeys(ends, 0), ends, stream) as consumer:
        waiting = set(ends)
        deadline = time.monotonic() + DEADLINE
        while waiting and time.monotonic() < deadline:
            subset = chance.sample(sorted(waiting), chance.randint(1, len(waiting)))
            for part in consumer.poll(subset, chance.choice([10, 500, 10_000]), 0.05):
                assert part.ssp in subset
                parts[part.ssp].append(part)
                waiting -= {part.ssp} if part.ended else set()
    assert not waiting
    for ssp, found in parts.items():
        assert [int(value[:6]) for value in values_of(found)] == list(range(15_000 if ssp.partition else 60_000))


def test_what_is_not_asked_for_takes_little_memory(topics):
    stream = topics.create("s", 2)
    values = [os.urandom(500_000) for _ in range(120)]
    write(topics, stream, values, partition=1)
    write(topics, stream, [b"1"])
    ssp, other = ssp_of(stream), ssp_of(stream, 1)
    with topics.consumer({ssp: 0, other: 0}, {}, stream) as consumer:
        deadline = time.monotonic() + DEADLINE
        while not consumer._by_ssp[other].paused and time.monotonic() < deadline:
            consumer.poll([ssp], 10_000, 0.05)
        for _ in range(10):
            consumer.poll([ssp], 10_000, 0.05)
        assert BUFFERED_BYTES < consumer._by_ssp[other].buffered_bytes < 4 * BUFFERED_BYTES
        parts = {other: []}
        while len(values_of(parts[other])) < len(values):
            parts[other] += consumer.poll([other], 10_000, DEADLINE)
        assert values_of(parts[other]) == values


def test_a_slow_reader_of_much_takes_little_memory(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        for _ in range(400):
            producer.send(ssp_of(stream), os.urandom(500_000), timestamp=1)
        producer.commit()
    ends = topics.ends(stream)
    with topics.consumer({ssp_of(stream): 0}, ends, stream) as consumer:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = 0
        while rows < 400:
            parts = consumer.poll([ssp_of(stream)], 10, DEADLINE)
            rows += sum(len(part.messages) for part in parts)
            assert consumer._by_ssp[ssp_of(stream)].buffered_bytes < 2 * MAXIMUM_BYTES
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 << 10


def test_it_waits_for_what_others_commit_and_gives_it_at_once(topics):
    stream = topics.create()
    with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer, topics.producer(stream) as producer:
        consumer.poll([ssp_of(stream)], 10, 0.2)
        producer.send(ssp_of(stream), b"1", timestamp=1)
        producer.commit()
        started = time.monotonic()
        parts = consumer.poll([ssp_of(stream)], 10, DEADLINE)
        assert values_of(parts) == [b"1"]
        assert time.monotonic() - started < DEADLINE / 2


def test_reading_from_0_begins_with_what_is_still_there(cluster, topics):
    stream = topics.create()
    write(topics, stream, [b"1", b"2", b"3"])
    delete_before(cluster, stream, 2)
    assert topics.values(stream) == {ssp_of(stream): [b"3"]}


def test_records_that_were_deleted_before_they_were_read_are_missed_by_name(cluster, topics):
    stream = topics.create()
    write(topics, stream, [b"1", b"2", b"3"])
    delete_before(cluster, stream, 2)
    for start in (1, 100):
        with (
            pytest.raises(
                StreamSystemError, match=rf"kafka\.s\[0\]: .* at offset {start}, but .* holds 2 to 4: .* new"
            ),
            topics.consumer({ssp_of(stream): start}, {}, stream),
        ):
            pass


def test_records_deleted_under_a_reader_are_missed_by_name(cluster, topics):
    stream = topics.create()
    write(topics, stream, [os.urandom(900_000) for _ in range(60)])
    with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer:
        consumer.poll([ssp_of(stream)], 1, DEADLINE)
        delete_before(cluster, stream, 59)
        with pytest.raises(StreamSystemError, match=r"kafka\.s\[0\] \(topic .*\), offset \d+: .* begin a new run"):
            until_ended(consumer, {ssp_of(stream): []})


def test_a_partition_that_is_not_there_is_refused_by_name(cluster, topics):
    stream = topics.create()
    with closing(KafkaConsumer(cluster, [stream, topics.stream("gone")])) as consumer:
        with pytest.raises(StreamSystemError, match=rf"kafka\.s\[1\]: .* no partition 1 of topic {stream.address}"):
            consumer.assign({ssp_of(stream, 1): 0}, {})
        with pytest.raises(StreamSystemError, match=r"kafka\.gone\[0\]: .* Create the topic first"):
            consumer.assign({ssp_of(topics.stream("gone")): 0}, {})


def delete_before(cluster, stream, offset):
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    (future,) = client.delete_records([TopicPartition(stream.address, 0, offset)]).values()
    future.result()
