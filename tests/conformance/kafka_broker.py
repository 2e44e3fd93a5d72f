"""The behaviour of a Kafka broker, request by request: of a real one, and so of the simulated one.

Each `check_*` takes a `KafkaUnderTest`. All of them hold for both; where a real broker surprises, it is right.
"""

import itertools

import pytest
from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    AddPartitionsToTxn,
    CreatePartitions,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    DescribeTopics,
    EndTxn,
    Fetch,
    InitProducerId,
    KafkaRecord,
    ListOffsets,
    OffsetKind,
    Produce,
    RequestError,
    TopicPartition,
    TopicSettings,
)

MINUTE = 60_000
LATER = {KafkaError.CONCURRENT_TRANSACTIONS, KafkaError.NOT_ENOUGH_REPLICAS}
"""Errors of brokers that are not done yet with the transaction before."""


class KafkaUnderTest:
    """A broker behind a network, real or simulated; names of topics and ids are unique."""

    def __init__(self, network, prefix="test"):
        self.network = network
        self._prefix = prefix
        self._numbers = itertools.count()

    def name(self):
        return f"{self._prefix}.{next(self._numbers)}"

    def topic(self, partitions=1, **settings):
        """Create a topic; returns its partitions."""
        topic = self.name()
        self.call(CreateTopic(topic=topic, partitions=partitions, settings=TopicSettings(**settings)))
        return [TopicPartition(topic, partition) for partition in range(partitions)]

    def call(self, request):
        return self.network.call(request)

    def patiently(self, request):
        """Ask until the broker is done with the transaction before."""
        for _ in range(2_000):
            try:
                return self.call(request)
            except RequestError as error:
                if error.code not in LATER:
                    raise
            self.network.sleep(0.02)
        raise AssertionError(request)

    def eventually(self, read, expected):
        for _ in range(2_000):
            if (found := read()) == expected:
                return
            self.network.sleep(0.02)
        assert found == expected

    def values(self, at, offset=0, *, read_committed=True):
        found = self.call(Fetch(partition=at, offset=offset, maximum_records=10_000, read_committed=read_committed))
        return [record.value for record in found.records]

    def latest(self, at, *, read_committed=True):
        request = ListOffsets(topics=(at.topic,), kind=OffsetKind.LATEST, read_committed=read_committed)
        return self.call(request)[at]

    def earliest(self, at):
        return self.call(ListOffsets(topics=(at.topic,), kind=OffsetKind.EARLIEST))[at]

    def settled(self, *partitions):
        """Wait until no transaction is open in these partitions."""
        for at in partitions:
            self.eventually(lambda at=at: self.latest(at) == self.latest(at, read_committed=False), True)


class RawProducer:
    """Sends the requests of one producer, one by one."""

    def __init__(self, kafka, id_=None, timeout_ms=MINUTE):
        self.kafka = kafka
        self.id = id_ or kafka.name()
        self.timeout_ms = timeout_ms
        self.sequences = {}
        self.identity = self.initialise()

    def initialise(self):
        self.sequences = {}
        self.identity = self.kafka.patiently(InitProducerId(transactional_id=self.id, timeout_ms=self.timeout_ms))
        return self.identity

    def add(self, *partitions):
        self.kafka.patiently(self.adding(*partitions))

    def adding(self, *partitions):
        return AddPartitionsToTxn(transactional_id=self.id, producer=self.identity, partitions=partitions)

    def producing(self, at, *values, key=None, timestamp=1, sequence=None):
        records = tuple(KafkaRecord(timestamp, key, value) for value in values)
        return Produce(
            transactional_id=self.id,
            producer=self.identity,
            partition=at,
            sequence=self.sequences.get(at, 0) if sequence is None else sequence,
            records=records,
        )

    def produce(self, at, *values, **options):
        offset = self.kafka.patiently(self.producing(at, *values, **options))
        self.sequences[at] = self.sequences.get(at, 0) + len(values)
        return offset

    def send(self, at, *values, **options):
        self.add(at)
        return self.produce(at, *values, **options)

    def ending(self, commit):
        return EndTxn(transactional_id=self.id, producer=self.identity, commit=commit)

    def end(self, *, commit=True):
        self.kafka.patiently(self.ending(commit))

    def commit(self, *partitions):
        self.end(commit=True)
        self.kafka.settled(*partitions)


def error_of(call, request):
    with pytest.raises(RequestError) as raised:
        call(request)
    return raised.value.code


def check_a_later_producer_has_the_next_epoch_and_the_earlier_one_is_refused(kafka):
    (at,) = kafka.topic()
    zombie = RawProducer(kafka)
    zombie.send(at, b"1")
    zombie.commit(at)
    later = RawProducer(kafka, zombie.id)
    assert later.identity == (zombie.identity.id, zombie.identity.epoch + 1)
    for request in (zombie.adding(at), zombie.producing(at, b"2"), zombie.ending(True), zombie.ending(False)):
        assert error_of(kafka.patiently, request) == KafkaError.INVALID_PRODUCER_EPOCH
    assert kafka.values(at) == [b"1"]


def check_taking_over_aborts_what_is_open_and_raises_the_epoch_twice(kafka):
    (at,) = kafka.topic()
    zombie = RawProducer(kafka)
    zombie.send(at, b"zombie")
    request = InitProducerId(transactional_id=zombie.id, timeout_ms=MINUTE)
    assert error_of(kafka.call, request) == KafkaError.CONCURRENT_TRANSACTIONS
    assert error_of(kafka.patiently, zombie.ending(True)) == KafkaError.INVALID_PRODUCER_EPOCH
    later = RawProducer(kafka, zombie.id)
    assert later.identity == (zombie.identity.id, zombie.identity.epoch + 2)
    assert (kafka.latest(at), kafka.values(at)) == (2, [])
    assert kafka.values(at, read_committed=False) == [b"zombie"]
    assert error_of(kafka.patiently, zombie.producing(at, b"more")) == KafkaError.INVALID_PRODUCER_EPOCH
    later.send(at, b"mine")
    later.commit(at)
    assert kafka.values(at) == [b"mine"]


def check_other_ids_have_other_producer_ids_and_are_not_mixed_up(kafka):
    (at,) = kafka.topic()
    one, other = RawProducer(kafka), RawProducer(kafka)
    assert one.identity.id != other.identity.id
    other.id = one.id
    for request in (other.adding(at), other.ending(True)):
        assert error_of(kafka.patiently, request) == KafkaError.INVALID_PRODUCER_ID_MAPPING


def check_a_transaction_is_visible_in_all_its_partitions_once_it_is_committed(kafka):
    first, second = kafka.topic(2)
    producer = RawProducer(kafka)
    producer.add(first, second)
    assert producer.produce(first, b"1", b"2") == 0
    assert producer.produce(second, b"3") == 0
    assert [(kafka.latest(at), kafka.values(at)) for at in (first, second)] == [(0, []), (0, [])]
    assert kafka.values(first, read_committed=False) == [b"1", b"2"]
    assert kafka.latest(first, read_committed=False) == 2
    producer.commit(first, second)
    assert (kafka.latest(first), kafka.values(first)) == (3, [b"1", b"2"])
    assert (kafka.latest(second), kafka.values(second)) == (2, [b"3"])
    assert kafka.call(Fetch(partition=first, offset=0, maximum_records=9)).next_offset == 3


def check_an_aborted_transaction_takes_offsets_and_is_never_read(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"dropped", b"dropped")
    producer.end(commit=False)
    kafka.settled(at)
    producer.send(at, b"kept")
    producer.commit(at)
    assert (kafka.latest(at), kafka.values(at), kafka.values(at, 1)) == (5, [b"kept"], [b"kept"])
    assert kafka.values(at, read_committed=False) == [b"dropped", b"dropped", b"kept"]


def check_an_open_transaction_hides_what_others_committed_behind_it(kafka):
    (at,) = kafka.topic()
    slow, quick = RawProducer(kafka), RawProducer(kafka)
    quick.send(at, b"before")
    quick.commit(at)
    slow.send(at, b"slow")
    quick.send(at, b"quick")
    quick.end()
    kafka.eventually(lambda: kafka.latest(at, read_committed=False), 5)
    assert (kafka.latest(at), kafka.values(at)) == (2, [b"before"])
    slow.send(at, b"again")
    slow.commit(at)
    assert (kafka.latest(at), kafka.values(at)) == (7, [b"before", b"slow", b"quick", b"again"])


def check_a_marker_takes_an_offset_in_a_partition_that_was_added_though_nothing_was_written_to_it(kafka):
    written, added = kafka.topic(2)
    producer = RawProducer(kafka)
    producer.add(written, added)
    producer.produce(written, b"1")
    producer.end()
    kafka.eventually(lambda: (kafka.latest(written), kafka.latest(added)), (2, 1))


def check_nothing_is_written_outside_of_a_transaction(kafka):
    first, second = kafka.topic(2)
    producer = RawProducer(kafka)
    assert error_of(kafka.patiently, producer.producing(first, b"early")) == KafkaError.INVALID_TXN_STATE
    producer.send(first, b"1")
    assert error_of(kafka.patiently, producer.producing(second, b"not added")) == KafkaError.INVALID_TXN_STATE
    producer.commit(first)
    assert error_of(kafka.patiently, producer.producing(first, b"late")) == KafkaError.INVALID_TXN_STATE
    assert (kafka.values(first), kafka.values(second)) == ([b"1"], [])


def check_an_end_that_is_repeated_is_confirmed_and_another_one_is_refused(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    for commit in (True, False):
        assert error_of(kafka.patiently, producer.ending(commit)) == KafkaError.INVALID_TXN_STATE
    for commit in (True, False):
        producer.send(at, b"1")
        for _ in range(2):
            producer.end(commit=commit)
        assert error_of(kafka.patiently, producer.ending(not commit)) == KafkaError.INVALID_TXN_STATE
    kafka.settled(at)
    assert kafka.values(at) == [b"1"]


def check_a_late_end_ends_a_later_transaction_of_the_same_producer(kafka):
    """The weakness of transactions version 1: nothing says which transaction a request to end one is about."""
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1")
    producer.commit(at)
    producer.send(at, b"2")
    kafka.patiently(producer.ending(True))  # of the first transaction: it was on its way twice
    kafka.settled(at)
    assert kafka.values(at) == [b"1", b"2"]
    producer.send(at, b"3")
    producer.end(commit=False)
    producer.send(at, b"4")
    kafka.patiently(producer.ending(False))
    kafka.settled(at)
    assert kafka.values(at) == [b"1", b"2"]


def check_a_late_end_does_nothing_once_another_producer_has_the_id(kafka):
    (at,) = kafka.topic()
    zombie = RawProducer(kafka)
    zombie.send(at, b"1")
    zombie.commit(at)
    later = RawProducer(kafka, zombie.id)
    later.send(at, b"2")
    for commit in (True, False):
        assert error_of(kafka.patiently, zombie.ending(commit)) == KafkaError.INVALID_PRODUCER_EPOCH
    assert kafka.values(at) == [b"1"]
    later.commit(at)
    assert kafka.values(at) == [b"1", b"2"]


def check_a_late_opening_opens_a_transaction_that_ends_with_the_next_one(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1")
    producer.commit(at)
    kafka.patiently(producer.adding(at))  # of the first transaction
    producer.send(at, b"2")
    producer.commit(at)
    assert kafka.values(at) == [b"1", b"2"]


def check_batches_that_come_twice_are_written_once_and_none_may_be_missing(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.add(at)
    requests = [producer.producing(at, b"%d" % n, b"%d" % n, sequence=2 * n) for n in range(7)]
    assert [kafka.patiently(request) for request in requests] == [0, 2, 4, 6, 8, 10, 12]
    assert [kafka.patiently(request) for request in requests[2:]] == [4, 6, 8, 10, 12]
    for sequence in (0, 13, 15):
        code = error_of(kafka.patiently, producer.producing(at, b"x", b"y", sequence=sequence))
        assert code == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.commit(at)
    assert len(kafka.values(at)) == 14


def check_a_late_batch_is_recognised_in_the_next_transaction(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    late = producer.producing(at, b"1")
    producer.send(at, b"1")
    producer.commit(at)
    producer.send(at, b"2")
    assert kafka.patiently(late) == 0
    producer.commit(at)
    assert kafka.values(at) == [b"1", b"2"]


def check_a_late_batch_that_comes_first_makes_the_next_transaction_fail(kafka):
    """Nothing is to overtake a batch that is tried again: brokers take the late one for that."""
    refused, recognised = kafka.topic(2)
    for at, added in ((refused, False), (recognised, True)):
        producer = RawProducer(kafka)
        late = producer.producing(at, b"1")
        producer.send(at, b"1")
        producer.commit(at)
        if added:
            producer.add(at)
            assert kafka.patiently(late) == 0
        else:
            assert error_of(kafka.patiently, late) == KafkaError.INVALID_TXN_STATE
            producer.add(at)
        for _ in range(2):
            assert error_of(kafka.patiently, producer.producing(at, b"2")) == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
        producer.end(commit=False)
        kafka.settled(at)
        producer.send(at, b"2")
        producer.commit(at)
        assert kafka.values(at) == [b"1", b"2"]


def check_sequences_go_on_over_transactions_and_begin_again_with_an_epoch(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1", b"2")
    producer.commit(at)
    producer.send(at, b"3")
    for sequence in (0, 2, 4):
        code = error_of(kafka.patiently, producer.producing(at, b"x", b"y", b"z", sequence=sequence))
        assert code == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.commit(at)
    producer.initialise()
    producer.add(at)
    assert (
        error_of(kafka.patiently, producer.producing(at, b"x", sequence=3)) == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    producer.produce(at, b"4")
    producer.commit(at)
    assert kafka.values(at) == [b"1", b"2", b"3", b"4"]


def check_a_transaction_that_takes_too_long_is_aborted_though_it_brings_news(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka, timeout_ms=3_000)
    producer.send(at, b"0")

    def send_more(_):
        for number in range(2_000):
            producer.send(at, b"%d" % number)
            kafka.network.sleep(0.02)

    assert error_of(send_more, None) == KafkaError.INVALID_PRODUCER_EPOCH
    assert error_of(kafka.patiently, producer.ending(True)) == KafkaError.INVALID_PRODUCER_EPOCH
    kafka.settled(at)
    assert kafka.values(at) == []
    later = RawProducer(kafka, producer.id)
    assert later.identity == (producer.identity.id, producer.identity.epoch + 2)


def check_deleted_records_are_out_of_range_and_offsets_stay(kafka):
    first, second = kafka.topic(2)
    producer = RawProducer(kafka)
    producer.add(first, second)
    producer.produce(first, b"1", b"2", b"3")
    producer.produce(second, b"4")
    producer.commit(first, second)
    for _ in range(2):
        kafka.call(DeleteRecords(partition=first, offset=2))
    assert (kafka.earliest(first), kafka.latest(first), kafka.values(first, 2)) == (2, 4, [b"3"])
    assert (kafka.earliest(second), kafka.values(second)) == (0, [b"4"])
    for offset in (1, 5):
        request = Fetch(partition=first, offset=offset, maximum_records=1)
        assert error_of(kafka.patiently, request) == KafkaError.OFFSET_OUT_OF_RANGE
    assert kafka.values(first, 4) == []
    assert error_of(kafka.patiently, DeleteRecords(partition=first, offset=5)) == KafkaError.OFFSET_OUT_OF_RANGE
    kafka.call(DeleteRecords(partition=first, offset=4))
    assert (kafka.earliest(first), kafka.latest(first), kafka.values(first, 4)) == (4, 4, [])


def check_records_of_an_open_transaction_can_be_deleted(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1", b"2", b"3")
    kafka.call(DeleteRecords(partition=at, offset=2))
    assert (kafka.earliest(at), kafka.latest(at), kafka.latest(at, read_committed=False)) == (2, 0, 3)
    assert kafka.values(at, 2) == []
    producer.commit(at)
    assert (kafka.latest(at), kafka.values(at, 2)) == (4, [b"3"])


def check_of_a_topic_that_is_only_compacted_no_records_are_deleted(kafka):
    (at,) = kafka.topic(compacted=True)
    assert error_of(kafka.patiently, DeleteRecords(partition=at, offset=0)) == KafkaError.POLICY_VIOLATION


def check_topics_are_created_grown_and_deleted_once(kafka):
    (at,) = kafka.topic()
    creation = CreateTopic(topic=at.topic, partitions=2)
    assert error_of(kafka.patiently, creation) == KafkaError.TOPIC_ALREADY_EXISTS
    assert error_of(kafka.patiently, CreateTopic(topic="no spaces", partitions=1)) == KafkaError.TOPIC_EXCEPTION
    request = CreatePartitions(topic=at.topic, partitions=1)
    assert error_of(kafka.patiently, request) == KafkaError.INVALID_PARTITIONS
    kafka.call(CreatePartitions(topic=at.topic, partitions=3))
    kafka.eventually(lambda: partitions_of(kafka, at.topic), 3)
    kafka.call(DeleteTopic(topic=at.topic))
    kafka.eventually(lambda: partitions_of(kafka, at.topic), None)
    for request in (DeleteTopic(topic=at.topic), CreatePartitions(topic=at.topic, partitions=2)):
        assert error_of(kafka.patiently, request) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert kafka.call(ListOffsets(topics=(at.topic,), kind=OffsetKind.LATEST)) == {}


def check_growth_changes_nothing_of_what_is_there(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1")
    kafka.call(CreatePartitions(topic=at.topic, partitions=2))
    kafka.eventually(lambda: partitions_of(kafka, at.topic), 2)
    added = at._replace(partition=1)
    producer.send(added, b"2")
    producer.commit(at, added)
    assert (kafka.values(at), kafka.values(added)) == ([b"1"], [b"2"])


def check_a_topic_that_is_recreated_has_another_id_and_is_empty(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1")
    producer.commit(at)
    before = kafka.call(DescribeTopics(topics=(at.topic,)))[at.topic].id
    kafka.call(DeleteTopic(topic=at.topic))
    kafka.eventually(lambda: partitions_of(kafka, at.topic), None)
    kafka.call(CreateTopic(topic=at.topic, partitions=1))
    kafka.eventually(lambda: partitions_of(kafka, at.topic), 1)
    assert kafka.call(DescribeTopics(topics=(at.topic,)))[at.topic].id != before
    kafka.eventually(lambda: kafka.latest(at), 0)
    assert kafka.values(at) == []


def check_what_is_not_there_is_neither_read_nor_written(kafka):
    (at,) = kafka.topic()
    producer = RawProducer(kafka)
    producer.send(at, b"1")
    for missing in (at._replace(partition=1), TopicPartition(kafka.name(), 0)):
        for request in (
            Fetch(partition=missing, offset=0, maximum_records=1),
            producer.adding(missing),
            producer.adding(at, missing),
            producer.producing(missing, b"1"),
        ):
            assert error_of(kafka.patiently, request) == KafkaError.UNKNOWN_TOPIC_OR_PART, request


def check_records_that_a_topic_does_not_allow_are_refused_with_their_batch(kafka):
    (plain,) = kafka.topic(maximum_bytes=1_000)
    (keyed,) = kafka.topic(compacted=True, timestamps_after_ms=None)
    future = kafka.network.now() + 2 * 60 * MINUTE
    producer = RawProducer(kafka)
    producer.add(plain, keyed)
    refused = {
        producer.producing(plain, b"x" * 2_000): KafkaError.MSG_SIZE_TOO_LARGE,
        producer.producing(plain, b"x", timestamp=future): KafkaError.INVALID_TIMESTAMP,
        producer.producing(keyed, b"x"): KafkaError.INVALID_RECORD,
    }
    assert {request: error_of(kafka.patiently, request) for request in refused} == refused
    producer.produce(plain, b"1", b"2", timestamp=1)
    producer.produce(keyed, b"3", key=b"k", timestamp=future)
    producer.commit(plain, keyed)
    assert (kafka.values(plain), kafka.values(keyed)) == ([b"1", b"2"], [b"3"])


def check_keys_values_and_times_come_back(kafka):
    (at,) = kafka.topic(compacted=True, timestamps_after_ms=None)
    producer = RawProducer(kafka)
    producer.send(at, b"v", None, b"", key=b"k", timestamp=1_700_000_000_123)
    producer.produce(at, b"w", key=b"", timestamp=5)
    producer.commit(at)
    found = kafka.call(Fetch(partition=at, offset=0, maximum_records=9)).records
    time = 1_700_000_000_123
    assert found == ((0, time, b"k", b"v"), (1, time, b"k", None), (2, time, b"k", b""), (3, 5, b"", b"w"))


def partitions_of(kafka, topic):
    found = kafka.call(DescribeTopics(topics=(topic,))).get(topic)
    return found and found.partitions
