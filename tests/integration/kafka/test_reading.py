"""Reading: bounds over gaps, subsets of partitions, memory, and what can't be read."""

import os
import random
import resource
import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from streamapp_core.spec.kafka_client_settings import ClientKind
from streamapp_systems.kafka.consumer import BUFFERED_BYTES, MAXIMUM_BYTES
from streamapp_systems.protocols import StreamSystemError
from support.kafka import DEADLINE, ssp_of, until_ended, values_of, write


@pytest.fixture
def topics(topics_of_each_source):
    return topics_of_each_source


def test_any_order_of_subsets_brings_every_record_once_and_in_order(topics):
    chance = random.Random(17)
    stream = topics.create("s", 4)
    size = 600
    for partition in range(4):
        values = [b"%06d" % number + b"x" * size for number in range(15_000 if partition else 60_000)]
        write(topics, stream, values, aborted=100, partition=partition)
    ends = topics.ends(stream)
    parts = {ssp: [] for ssp in ends}
    with topics.consumer(dict.fromkeys(ends, 0), ends, stream) as consumer:
        waiting = set(ends)
        deadline = time.monotonic() + 2 * DEADLINE
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
    write(topics, stream, (os.urandom(500_000) for _ in range(400)))
    ends = topics.ends(stream)
    with topics.consumer({ssp_of(stream): 0}, ends, stream) as consumer:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = 0
        while rows < 400:
            parts = consumer.poll([ssp_of(stream)], 10, DEADLINE)
            rows += sum(len(part.messages) for part in parts)
            assert consumer._by_ssp[ssp_of(stream)].buffered_bytes < 2 * MAXIMUM_BYTES
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 << 10


def next_run(source):
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        received = source.receive(100)
        for _, run in received.runs:
            return run
        for _, run in source.wait(0.2).runs:
            return run
    pytest.fail("nothing came")


def test_a_pause_makes_no_record_come_twice(topics):
    stream = topics.create()
    write(topics, stream, [b"%d" % number for number in range(2_000)])
    at = TopicPartition(stream.address, 0, 0)
    with (
        closing(Consumer(topics.cluster.client(ClientKind.CONSUMER))) as client,
        closing(topics.clients.source(client)) as source,
    ):
        source.assign([at])
        last = -1
        while last < 500:
            run = next_run(source)
            assert run.first_offset == last + 1
            last = run.last_offset
        client.pause([at])
        client.resume([at])
        assert next_run(source).first_offset == last + 1


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


def test_records_deleted_under_a_reader_are_missed_by_name(cluster, topics):
    stream = topics.create()
    write(topics, stream, [os.urandom(900_000) for _ in range(60)])
    with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer:
        consumer.poll([ssp_of(stream)], 1, DEADLINE)
        delete_before(cluster, stream, topics.ends(stream)[ssp_of(stream)] - 1)
        with pytest.raises(StreamSystemError, match=r"kafka\.s\[0\] \(topic .*\), offset \d+: .* begin a new run"):
            until_ended(consumer, {ssp_of(stream): []})


def delete_before(cluster, stream, offset):
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    (future,) = client.delete_records([TopicPartition(stream.address, 0, offset)]).values()
    future.result()
