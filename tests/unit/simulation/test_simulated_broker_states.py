"""Whatever requests arrive, however late and often: what a simulated broker shows is what was decided."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simulation.kafka_requests import (
    DAY,
    AddPartitionsToTxn,
    CreateTopic,
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
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_coordinator import TransactionState

IDS = ("a", "b")
PLAIN, OTHER, COMPACTED = TopicPartition("plain", 0), TopicPartition("plain", 1), TopicPartition("compacted", 0)
PARTITIONS = (PLAIN, OTHER, COMPACTED)
TIMEOUT_MS = 10_000


class BrokerStates(RuleBasedStateMachine):
    """Clients send what they like; the oracle notes decisions, and to which marker each record was exposed."""

    def __init__(self):
        super().__init__()
        self.broker = SimulatedBroker()
        self.now = 1_700_000_000_000
        self.current = {}
        self.retired = []
        self.sequences = {}
        self.sent = []
        self.commits = {}
        self.undecided = {at: {} for at in PARTITIONS}
        self.committed = {at: {} for at in PARTITIONS}
        self.seen = {at: [] for at in PARTITIONS}
        self.numbers = 0

    @initialize()
    def create(self):
        settings = TopicSettings(compacted=True)
        self.broker.handle(CreateTopic(topic="plain", partitions=2), self.now)
        self.broker.handle(CreateTopic(topic="compacted", partitions=1, settings=settings), self.now)

    def handle(self, request):
        """Apply a request, and note what it decides; returns the answer, or the error."""
        id_ = getattr(request, "transactional_id", None)
        before = self.broker.transaction_state(id_)
        try:
            answer = self.broker.handle(request, self.now)
        except RequestError as error:
            answer = error
        self.note_decision(id_, before)
        return answer

    def note_decision(self, id_, before):
        after = self.broker.transaction_state(id_)
        if before is TransactionState.ONGOING and after is not before:
            self.commits[id_] = after in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    @rule(id_=st.sampled_from(IDS))
    def take_over(self, id_):
        answer = self.handle(InitProducerId(transactional_id=id_, timeout_ms=TIMEOUT_MS))
        if isinstance(answer, RequestError):
            return
        if id_ in self.current:
            self.retired.append((id_, self.current[id_]))
        self.current[id_] = answer

    @rule(id_=st.sampled_from(IDS), partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1))
    def add(self, id_, partitions):
        if id_ in self.current:
            self.send(
                AddPartitionsToTxn(
                    transactional_id=id_, producer=self.current[id_], partitions=tuple(sorted(partitions))
                )
            )

    @rule(id_=st.sampled_from(IDS), at=st.sampled_from(PARTITIONS), count=st.integers(1, 3), lost=st.booleans())
    def produce(self, id_, at, count, lost):
        if id_ not in self.current:
            return
        place = (self.current[id_], at)
        self.numbers += 1
        values = [b"%d.%d" % (self.numbers, n) for n in range(count)]
        request = Produce(
            transactional_id=id_,
            producer=self.current[id_],
            partition=at,
            sequence=self.sequences.get(place, 0),
            records=tuple(KafkaRecord(1, b"%d" % (n % 2), value) for n, value in enumerate(values)),
        )
        if lost:
            self.sent.append(request)
        elif not isinstance(self.send(request), RequestError):
            self.sequences[place] = request.sequence + count

    @rule(id_=st.sampled_from(IDS), commit=st.booleans())
    def end(self, id_, commit):
        if id_ in self.current:
            self.send(EndTxn(transactional_id=id_, producer=self.current[id_], commit=commit))

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 1_000))
    def repeat(self, which):
        """A request that was sent before, by whomever, comes (again)."""
        request = self.sent[which % len(self.sent)]
        answer = self.send(request)
        if (request.transactional_id, request.producer) in self.retired:
            assert isinstance(answer, RequestError)

    def send(self, request):
        self.sent.append(request)
        if not isinstance(request, Produce):
            return self.handle(request)
        before = self.end_of(request.partition)
        answer = self.handle(request)
        if not isinstance(answer, RequestError) and answer == before:
            written = self.undecided[request.partition].setdefault(request.producer.id, {})
            written.update({answer + n: record for n, record in enumerate(request.records)})
        return answer

    @precondition(lambda self: self.broker.due_markers())
    @rule(which=st.integers(0, 100))
    def write_marker(self, which):
        markers = self.broker.due_markers()
        self.write(markers[which % len(markers)])

    def write(self, marker):
        written = self.undecided[marker.partition].pop(self.current[marker.transactional_id].id, {})
        if self.commits[marker.transactional_id]:
            self.committed[marker.partition].update(written)
        self.broker.write_marker(marker, self.now)

    @rule(seconds=st.sampled_from([1, 9, 11]))
    def wait(self, seconds):
        self.now += 1000 * seconds
        before = {id_: self.broker.transaction_state(id_) for id_ in IDS}
        self.broker.abort_expired_transactions(self.now)
        for id_ in IDS:
            self.note_decision(id_, before[id_])

    @rule()
    def compact(self):
        self.broker.compact(self.now)

    @rule(forgetting=st.booleans())
    def die(self, forgetting):
        self.broker.die(forgets=lambda _at, _commit: forgetting)
        assert not self.broker.due_markers()
        self.broker.start()

    @invariant()
    def readers_see_committed_records_in_order_and_what_they_saw_stays(self):
        if not self.broker.topics.logs_of("compacted"):
            return
        for at in PARTITIONS:
            found = self.read(at)
            stable = self.end_of(at, read_committed=True)
            assert [offset for offset, _ in found] == sorted({offset for offset, _ in found if offset < stable})
            expected = {offset: record for offset, record in self.committed[at].items() if offset < stable}
            if at is COMPACTED:
                assert newest(found) == newest(sorted(expected.items()))
                assert dict(found).items() <= expected.items()
            else:
                assert dict(found) == expected
                assert found[: len(self.seen[at])] == self.seen[at]
                self.seen[at] = found

    def read(self, at):
        records = self.broker.handle(Fetch(partition=at, offset=0, maximum_records=10_000), self.now).records
        return [(r.offset, KafkaRecord(r.timestamp, r.key, r.value)) for r in records]

    def end_of(self, at, *, read_committed=False):
        request = ListOffsets(topics=(at.topic,), kind=OffsetKind.LATEST, read_committed=read_committed)
        return self.broker.handle(request, self.now)[at]

    def teardown(self):
        """Once each id has written everywhere again and its markers are there, everything is decided and visible."""
        self.now += DAY
        for id_ in IDS:
            while isinstance(self.handle(InitProducerId(transactional_id=id_, timeout_ms=1)), RequestError):
                self.write_all()
            if id_ not in self.current:
                continue
            self.take_over(id_)
            self.add(id_, set(PARTITIONS))
            self.end(id_, False)
            self.write_all()
        if not any(self.undecided.values()):
            for at in PARTITIONS:
                assert self.end_of(at) == self.end_of(at, read_committed=True)
            self.readers_see_committed_records_in_order_and_what_they_saw_stays()

    def write_all(self):
        for marker in self.broker.due_markers():
            self.write(marker)


def newest(records):
    """Give the last value of each key."""
    return {record.key: record.value for _, record in records}


TestBrokerStates = BrokerStates.TestCase
TestBrokerStates.settings = settings(max_examples=100, stateful_step_count=60)
