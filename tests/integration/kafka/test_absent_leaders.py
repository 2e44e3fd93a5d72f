"""The leader of a partition is away: its silence means nothing, and what it brings later is not late."""

import json
import time
from contextlib import ExitStack, closing

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_systems.kafka import KafkaConsumer
from streamapp_systems.protocols import SentRecords
from support import apps
from support.idle_visits import idle_visits
from support.kafka import PATIENT, Topics, answered_ends, cluster_at, eventually, ssp_of

IDLE_SECONDS = 30
"""So long may the app and its writers take, on a slow machine, until the late row is there."""


@pytest.fixture(scope="module")
def broker():
    with Broker(kafka_jars(default_cache()), settings=PATIENT) as broker:
        yield broker


@pytest.fixture
def topics(broker, request):
    return Topics(cluster_at(broker.bootstrap_servers, timeout=90), request.node.name)


def answered_after_a_poll(consumer, *ssps):
    """Read some more, and ask for the ends."""
    consumer.poll(ssps, 100, 0.1)
    return answered_ends(consumer, ssps)


def test_a_partition_is_read_to_its_end_as_its_leader_says_and_without_an_answer_nothing_is_known(broker, topics):
    stream = topics.create("s", 2)
    here, there = ssp_of(stream, 0), ssp_of(stream, 1)
    with topics.producer(stream) as producer:
        producer.send(here, b"1", timestamp=1)
        producer.commit()
    with closing(KafkaConsumer(topics.cluster, [stream])) as consumer, topics.producer(stream, name="w2") as producer:
        consumer.assign({here: 0, there: 0}, {})
        eventually(lambda: answered_ends(consumer, (here, there)).get(there), True)
        eventually(lambda: answered_after_a_poll(consumer, here, there).get(here), True)
        producer.send(there, b"2", timestamp=1)
        producer.send_all(there, records_that_are_sent_at_once())
        eventually(lambda: answered_ends(consumer, (here, there)), {here: True, there: False})
        producer.commit()
        eventually(lambda: answered_after_a_poll(consumer, here, there), {here: True, there: True})
        with broker.paused():
            eventually(lambda: answered_ends(consumer, (here, there)), {})
        eventually(lambda: answered_ends(consumer, (here, there)), {here: True, there: True})


def records_that_are_sent_at_once():
    """Give so many records that the client does not keep them until the commit."""
    return SentRecords.of(timestamps=None, keys=[None] * 40, values=[b"x" * 900_000] * 40)


class Story:
    """Rows in two partitions; the broker stands still; one partition goes on at once, the other one a little later."""

    def __init__(self, topics, broker, hold):
        self.topics, self.broker, self.hold = topics, broker, hold
        self.stream = topics.create("in", 2)
        self.steps = iter((self.stand_still, self.come_back, self.go_on_late, self.end))
        self.next = next(self.steps)
        self.summary = None
        self.number = 0
        self.write(0, 1_000)
        self.write(1, 1_000)

    def write(self, partition, at):
        self.number += 1
        value = json.dumps({"who": f"p{partition}", "at": at}).encode()
        with self.topics.producer(self.stream, name=f"w{self.number}") as producer:
            producer.send(ssp_of(self.stream, partition), value, timestamp=1)
            producer.commit()

    def read(self):
        (stream,) = [stream for stream in self.summary.streams if stream.name == "in"]
        return stream.read

    def reached(self):
        if self.next is not None and self.next():
            self.next = next(self.steps, None)
        return self.next is None

    def stand_still(self):
        if self.read() < 2:
            return False
        self.hold.enter_context(self.broker.paused())
        self.until = time.monotonic() + 1.2 * IDLE_SECONDS
        return True

    def come_back(self):
        if time.monotonic() < self.until:
            return False
        self.hold.close()
        self.write(0, 60_000)
        return True

    def go_on_late(self):
        if self.read() < 3:
            return False
        self.write(1, 2_000)
        return True

    def end(self):
        return self.read() == 4


def test_rows_of_a_partition_whose_leader_was_away_for_longer_than_the_timeout_are_not_late(tmp_path, broker, topics):
    with ExitStack() as hold:
        story = Story(topics, broker, hold)

        def told(summary):
            story.summary = summary

        apps.run_until(
            tmp_path, idle_visits(topics.prefix, broker.bootstrap_servers, IDLE_SECONDS), story.reached, told=told
        )
    assert story.summary.not_used == {}
