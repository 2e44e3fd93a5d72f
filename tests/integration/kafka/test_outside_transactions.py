"""Another producer of an input, no part of the app, dies in a transaction; brokers end it only when it times out."""

import json
import time
from contextlib import contextmanager

from confluent_kafka import Producer

from support import apps
from support.idle_visits import idle_visits
from support.kafka import DEADLINE, ssp_of

IDLE_SECONDS = 2
HANGING_SECONDS = 30
"""Brokers look for transactions that took too long every 10 s."""
FAR = 3_600_000


def row(who, at):
    return json.dumps({"who": who, "at": at}).encode()


@contextmanager
def hanging_transaction(topics, stream, partition):
    """Open a transaction that nobody ends: as long as it is open, what follows it can't be read."""
    settings = {"transactional.id": topics.owner("dead").id, "transaction.timeout.ms": HANGING_SECONDS * 1000}
    producer = Producer({"bootstrap.servers": topics.cluster.bootstrap_servers, **settings})
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    producer.produce(stream.address, row("p0", FAR), None, partition)
    assert producer.flush(DEADLINE) == 0
    yield


class Story:
    """Rows in two partitions, one of which can't be read for a while: the other one is silent for long, and goes on."""

    def __init__(self, topics):
        self.topics = topics
        self.stream = topics.create("in", 2)
        self.summary = None
        self.waiting_since = None
        self.gone_on = False

    def write(self, name, *rows):
        with self.topics.producer(self.stream, name=name) as producer:
            for partition, at in rows:
                producer.send(ssp_of(self.stream, partition), row(f"p{partition}", at), timestamp=1)
            producer.commit()

    def told(self, summary):
        self.summary = summary

    def counts(self):
        (stream,) = [stream for stream in self.summary.streams if stream.name == "in"]
        return stream.read, self.summary.written.get("out", 0)

    def reached(self):
        if self.counts() == (2, 0) and not self.gone_on:
            self.waiting_since = self.waiting_since or time.monotonic()
            if time.monotonic() - self.waiting_since > 2 * IDLE_SECONDS:
                self.gone_on = True
                self.write("w2", (1, 70_000))
        return self.counts() == (6, 4)


def test_an_app_waits_for_what_follows_a_hanging_transaction_and_goes_on_when_that_has_timed_out(
    tmp_path, kafka, topics
):
    story = Story(topics)
    with hanging_transaction(topics, story.stream, 0):
        story.write("w1", (0, 1_000), (0, 2_000), (0, 70_000), (1, 1_000), (1, 60_000))
        apps.run_until(
            tmp_path, idle_visits(topics.prefix, kafka.bootstrap_servers, IDLE_SECONDS), story.reached, told=story.told
        )
    assert story.gone_on
    assert story.summary.not_used == {}
    out = topics.stream("out")
    found = [json.loads(value) for value in topics.values(out)[ssp_of(out)]]
    assert sorted((result["who"], result["n"]) for result in found) == [("p0", 1), ("p0", 1), ("p1", 1), ("p1", 1)]
