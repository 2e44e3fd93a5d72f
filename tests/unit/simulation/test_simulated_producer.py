"""What a simulated producer makes of answers that are lost, late, or errors."""

from collections import deque

import pytest
from confluent_kafka import KafkaError

from conformance.kafka_broker import KafkaUnderTest
from simulation.kafka_requests import AddPartitionsToTxn, EndTxn, NoAnswer, Produce, RequestError
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_network import DirectNetwork, VirtualTime
from simulation.simulated_producer import SimulatedProducer
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import Cluster
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamDescriptor, TransactionOwner, Unavailable

CLUSTER = Cluster(name="kafka", bootstrap_servers="simulated:9092", timeout=30.0)
OWNER = TransactionOwner(id="writer", epoch=1)
LOST_REQUEST, LOST_ANSWER = "request", "answer"


class LossyNetwork(DirectNetwork):
    """Loses what a test says, in the order of the calls of each kind; requests that were lost may come later."""

    def __init__(self):
        super().__init__(SimulatedBroker(), VirtualTime())
        self.planned = {}
        self.lost = []

    def plan(self, kind, *outcomes):
        self.planned[kind] = deque(outcomes)

    def call(self, request):
        outcomes = self.planned.get(type(request))
        outcome = outcomes.popleft() if outcomes else None
        if isinstance(outcome, int):
            raise RequestError(outcome)
        if outcome == LOST_REQUEST:
            self.lost.append(request)
            raise NoAnswer
        answer = super().call(request)
        if outcome == LOST_ANSWER:
            raise NoAnswer
        return answer

    def deliver_late(self):
        """Let all that was lost arrive."""
        while self.lost:
            with pytest.raises(RequestError) as refused:
                super().call(self.lost.pop(0))
            assert refused.value.code == KafkaError.INVALID_PRODUCER_EPOCH


@pytest.fixture
def network():
    return LossyNetwork()


@pytest.fixture
def kafka(network):
    return KafkaUnderTest(network)


@pytest.fixture
def at(kafka):
    return kafka.topic()[0]


@pytest.fixture
def confirmed():
    return []


@pytest.fixture
def producer(network, at, confirmed):
    stream = StreamDescriptor(name="s", system="kafka", address=at.topic, format=StreamFormat.JSON)
    return SimulatedProducer(network, CLUSTER, [stream], OWNER, lambda: confirmed.append(1))


def send(producer, value):
    producer.send(Ssp("kafka", "s", 0), value, timestamp=1)


@pytest.mark.parametrize("kind", [AddPartitionsToTxn, Produce, EndTxn])
@pytest.mark.parametrize("outcome", [LOST_REQUEST, LOST_ANSWER, KafkaError.NOT_COORDINATOR])
def test_what_is_lost_is_sent_again_and_written_once(network, kafka, at, producer, kind, outcome):
    for number in range(3):
        network.plan(kind, outcome, outcome)
        send(producer, b"%d" % number)
        assert producer.commit() == {Ssp("kafka", "s", 0): 2 * number + 1}
    kafka.settled(at)
    assert kafka.values(at) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_comes_late_does_not_end_the_next_transaction(network, kafka, at, producer, confirmed, commit):
    network.plan(EndTxn, LOST_REQUEST)
    send(producer, b"1")
    if commit:
        producer.commit()
    else:
        producer._flush()
        producer.abort()
    for number in range(2_000):
        send(producer, b"next %d" % number)
    assert kafka.latest(at, read_committed=False) > 1_000
    network.deliver_late()
    producer.abort()
    kafka.settled(at)
    assert kafka.values(at) == ([b"1"] if commit else [])
    assert confirmed == [1]


def test_what_a_transaction_needs_can_be_done_before_its_first_record(network, producer, confirmed):
    producer.prepare()
    assert confirmed == []
    network.plan(EndTxn, LOST_REQUEST)
    send(producer, b"1")
    producer.commit()
    producer.prepare()
    assert confirmed == [1]
    send(producer, b"2")
    producer.prepare()
    producer.commit()
    assert confirmed == [1]


def test_a_commit_without_any_answer_is_unknown_and_can_only_be_tried_again(network, kafka, at, producer):
    network.plan(EndTxn, LOST_ANSWER, *[LOST_REQUEST] * 100)
    send(producer, b"1")
    with pytest.raises(CommitUnknown):
        producer.commit()
    for call in (producer.abort, lambda: send(producer, b"2")):
        with pytest.raises(CommitUnknown):
            call()
    network.plan(EndTxn)
    assert producer.commit() == {Ssp("kafka", "s", 0): 1}
    assert kafka.values(at) == [b"1"]


def test_records_that_find_no_broker_make_the_transaction_fail(network, kafka, at, producer):
    network.plan(Produce, *[LOST_REQUEST] * 1_000)
    send(producer, b"1")
    for _ in range(2):
        with pytest.raises(Unavailable):
            producer.commit()
    network.plan(Produce)
    producer.close()
    network.sleep(60)
    assert kafka.values(at) == []


def test_a_fence_between_records_and_commit_is_told_as_such(network, at, producer, kafka):
    send(producer, b"zombie")
    network.plan(EndTxn, KafkaError.INVALID_PRODUCER_EPOCH)
    with pytest.raises(Fenced, match="A later producer has taken over"):
        producer.commit()
