"""What a Kafka broker does by itself: compaction, deaths, and a transaction that a death makes it forget.

Each `check_*` takes a `KafkaUnderTest` and the node behind it: `compact()`, `restart()` (after a sudden death), and
`commit_and_forget((producer, at), ...)`: the node answers commits, dies before it writes the markers of these
partitions, and takes them for written.
"""

from confluent_kafka import KafkaError

from conformance.kafka_broker import RawProducer, error_of
from simulation.kafka_requests import Fetch

FILLER = b"filler"
"""The key of records that make brokers close a segment, and clean what lies before it."""


class Churned:
    """A compacted partition that is written to while its broker cleans it."""

    def __init__(self, kafka, node, at):
        self.kafka, self.node, self.at = kafka, node, at
        self._filler = RawProducer(kafka)

    def live(self, *, read_committed=False):
        """Read keys and values after the broker has had another chance to clean."""
        self._filler.send(self.at, b"", key=FILLER, timestamp=self.kafka.network.now())
        self._filler.end()
        self.kafka.network.sleep(0.1)
        self.node.compact()
        return self.read(read_committed=read_committed)

    def read(self, *, read_committed):
        request = Fetch(partition=self.at, offset=0, maximum_records=10_000, read_committed=read_committed)
        return [(r.key, r.value) for r in self.kafka.call(request).records if r.key != FILLER]


def check_compaction_keeps_the_newest_record_of_each_key_and_no_aborted_ones(kafka, node):
    (at,) = kafka.topic(compacted=True, timestamps_after_ms=None)
    producer, churned = RawProducer(kafka), Churned(kafka, node, at)
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", None)):
        producer.send(at, value, key=key)
        producer.commit(at)
    producer.send(at, b"dropped", key=b"a")
    producer.end(commit=False)
    kafka.settled(at)
    kafka.eventually(churned.live, [(b"b", b"2"), (b"a", b"3"), (b"c", None)])
    assert churned.read(read_committed=True) == [(b"b", b"2"), (b"a", b"3"), (b"c", None)]
    assert kafka.earliest(at) == 0


def check_deletions_go_some_time_after_they_were_seen(kafka, node):
    (at,) = kafka.topic(compacted=True, timestamps_after_ms=None, delete_retention_ms=300)
    producer, churned = RawProducer(kafka), Churned(kafka, node, at)
    producer.send(at, b"1", key=b"a")
    producer.produce(at, None, key=b"a")
    producer.produce(at, b"2", key=b"b")
    producer.commit(at)
    kafka.eventually(churned.live, [(b"b", b"2")])


def check_what_lies_behind_an_open_transaction_is_not_compacted(kafka, node):
    (at,) = kafka.topic(compacted=True, timestamps_after_ms=None)
    producer, opened, churned = RawProducer(kafka), RawProducer(kafka), Churned(kafka, node, at)
    for value in (b"1", b"2"):
        producer.send(at, value, key=b"a")
        producer.commit(at)
    kafka.eventually(churned.live, [(b"a", b"2")])
    opened.send(at, b"open", key=b"a")
    for value in (b"3", b"4"):
        producer.send(at, value, key=b"a")
        producer.end()
    for _ in range(10):
        assert churned.live() == [(b"a", value) for value in (b"2", b"open", b"3", b"4")]
    opened.end(commit=False)
    kafka.settled(at)
    kafka.eventually(churned.live, [(b"a", b"4")])


def check_transactions_survive_the_death_of_their_broker(kafka, node):
    (at,), (other,) = kafka.topic(), kafka.topic()
    opened, committed = RawProducer(kafka), RawProducer(kafka)
    opened.send(at, b"1")
    late = opened.producing(at, b"1", sequence=0)
    committed.send(other, b"2")
    committed.commit(other)
    node.restart()
    assert (kafka.latest(at), kafka.latest(at, read_committed=False)) == (0, 1)
    assert kafka.patiently(late) == 0
    opened.produce(at, b"3")
    opened.commit(at)
    committed.end(commit=True)
    assert error_of(kafka.patiently, committed.ending(False)) == KafkaError.INVALID_TXN_STATE
    assert (kafka.values(at), kafka.values(other)) == ([b"1", b"3"], [b"2"])


def check_a_forgotten_transaction_hangs_until_the_next_one_of_its_producer_ends_and_ends_as_that_does(kafka, node):
    cases = [(commit, taken_over) for commit in (False, True) for taken_over in (False, True)]
    hanging = [(RawProducer(kafka), *kafka.topic()) for _ in cases]
    for producer, at in hanging:
        producer.send(at, b"1", b"2")
    node.commit_and_forget(*hanging)
    other = RawProducer(kafka)
    for (commit, taken_over), (producer, at) in zip(cases, hanging, strict=True):
        if taken_over:
            epoch = producer.identity.epoch
            assert producer.initialise().epoch == epoch + 1
        other.send(at, b"3")
        other.end()
        other.initialise()
        assert (kafka.latest(at), kafka.values(at), kafka.latest(at, read_committed=False)) == (0, [], 4)
        producer.send(at, b"4")
        producer.end(commit=commit)
        kafka.settled(at)
        assert kafka.values(at) == ([b"1", b"2", b"3", b"4"] if commit else [b"3"])
