"""The transaction coordinator of a simulated broker: who owns each transactional id, and what is open under it.

A commit is decided, and answered, when its transaction is prepared; its markers are written after that, one partition
at a time, in any order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    ProducerIdentity,
    RequestError,
    TopicPartition,
)

_LAST_EPOCH = 32_766
"""A producer id has no epoch beyond: the next producer gets another id."""


class TransactionState(Enum):
    """The states of a transactional id."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"

    @property
    def prepared(self) -> bool:
        """Whether its outcome is decided, and markers are to be written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


class DueMarker(NamedTuple):
    """A marker that is decided, and not written yet; `since` is when (ms)."""

    transactional_id: str
    partition: TopicPartition
    since: int


@dataclass(slots=True)
class _Transaction:
    """What the coordinator knows of one transactional id; `since` is when its transaction began, or was decided."""

    producer: ProducerIdentity
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    since: int = 0

    def prepare(self, *, commit: bool, now: int) -> None:
        self.state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        self.since = now
        self.complete_if_marked()

    def fence(self, now: int) -> None:
        """Abort what is open, for good: the markers have an epoch that its producer doesn't have."""
        self.producer = self.producer._replace(epoch=self.producer.epoch + 1)
        self.prepare(commit=False, now=now)

    def complete_if_marked(self) -> None:
        if self.state.prepared and not self.partitions:
            commit = self.state is TransactionState.PREPARE_COMMIT
            self.state = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT


class Coordinator:
    """Hands out producer ids and epochs, and decides transactions."""

    def __init__(self) -> None:
        self._transactions: dict[str, _Transaction] = {}
        self._producer_ids = 0
        self.has_forgotten = False
        """Whether markers were ever left out (see `forget_markers`)."""

    def initialise(self, request: InitProducerId, now: int) -> ProducerIdentity:
        """Give a transactional id to another producer, once nothing of the one before is open or unwritten.

        Raises:
            RequestError: CONCURRENT_TRANSACTIONS: ask again.
        """
        known = self._transactions.get(request.transactional_id)
        if known is not None and known.state is TransactionState.ONGOING:
            known.fence(now)
            raise RequestError(KafkaError.CONCURRENT_TRANSACTIONS)
        if known is not None and known.state.prepared:
            raise RequestError(KafkaError.CONCURRENT_TRANSACTIONS)
        if known is None or known.producer.epoch >= _LAST_EPOCH:
            producer = ProducerIdentity(self._producer_ids, 0)
            self._producer_ids += 1
        else:
            producer = known.producer._replace(epoch=known.producer.epoch + 1)
        self._transactions[request.transactional_id] = _Transaction(producer, request.timeout_ms)
        return producer

    def add_partitions(self, request: AddPartitionsToTxn, now: int) -> None:
        """Add partitions to a transaction, which begins with the first ones.

        Raises:
            RequestError: the producer is fenced, or its transaction before is not complete yet: ask again.
        """
        transaction = self._owned(request.transactional_id, request.producer)
        if transaction.state.prepared:
            raise RequestError(KafkaError.CONCURRENT_TRANSACTIONS)
        if transaction.state is not TransactionState.ONGOING:
            transaction.state, transaction.since = TransactionState.ONGOING, now
        transaction.partitions.update(request.partitions)

    def verify(self, transactional_id: str, producer: ProducerIdentity, partition: TopicPartition) -> None:
        """Check that a partition may be written to in the open transaction.

        Raises:
            RequestError: it may not; NOT_ENOUGH_REPLICAS while the transaction before is not complete yet.
        """
        transaction = self._owned(transactional_id, producer)
        if transaction.state.prepared:
            raise RequestError(KafkaError.NOT_ENOUGH_REPLICAS)
        if transaction.state is not TransactionState.ONGOING or partition not in transaction.partitions:
            raise RequestError(KafkaError.INVALID_TXN_STATE)

    def end(self, request: EndTxn, now: int) -> None:
        """Decide the open transaction; a decision that comes again is confirmed once its markers are written.

        Nothing says to which transaction of the producer a request belongs: one that was delayed decides a later one.

        Raises:
            RequestError: the producer is fenced, markers are not written yet, or another decision was made.
        """
        transaction = self._owned(request.transactional_id, request.producer)
        if transaction.state is TransactionState.ONGOING:
            transaction.prepare(commit=request.commit, now=now)
            return
        commits = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if transaction.state is TransactionState.EMPTY or (transaction.state in commits) != request.commit:
            raise RequestError(KafkaError.INVALID_TXN_STATE)
        if transaction.state.prepared:
            raise RequestError(KafkaError.CONCURRENT_TRANSACTIONS)

    def abort_expired(self, now: int) -> None:
        """Abort the transactions that began too long ago, and fence their producers."""
        for transaction in self._transactions.values():
            expired = now - transaction.since > transaction.timeout_ms
            if transaction.state is TransactionState.ONGOING and expired:
                transaction.fence(now)

    def state(self, transactional_id: str) -> TransactionState:
        """Return the state of a transactional id."""
        known = self._transactions.get(transactional_id)
        return TransactionState.EMPTY if known is None else known.state

    def due_markers(self) -> Iterator[DueMarker]:
        """Yield the markers that are to be written, in the order in which they were decided."""
        prepared = [(known.since, id_, known) for id_, known in self._transactions.items() if known.state.prepared]
        for since, id_, transaction in sorted(prepared, key=lambda found: found[:2]):
            for partition in sorted(transaction.partitions):
                yield DueMarker(id_, partition, since)

    def take_marker(self, marker: DueMarker) -> tuple[ProducerIdentity, bool]:
        """Return a due marker's producer and whether it commits; the last one completes its transaction."""
        transaction = self._transactions[marker.transactional_id]
        transaction.partitions.remove(marker.partition)
        commit = transaction.state is TransactionState.PREPARE_COMMIT
        transaction.complete_if_marked()
        return transaction.producer, commit

    def forget_markers(self, forgets: Callable[[TopicPartition, bool], bool]) -> None:
        """Take decided transactions for complete in some partitions, as a node does that died too soon.

        `forgets` says in which, by the partition and whether the transaction was committed.
        """
        for transaction in self._transactions.values():
            if transaction.state.prepared:
                commit = transaction.state is TransactionState.PREPARE_COMMIT
                forgotten = {at for at in transaction.partitions if forgets(at, commit)}
                transaction.partitions -= forgotten
                self.has_forgotten |= bool(forgotten)
                transaction.complete_if_marked()

    def _owned(self, transactional_id: str, producer: ProducerIdentity) -> _Transaction:
        known = self._transactions.get(transactional_id)
        if known is None or known.producer.id != producer.id:
            raise RequestError(KafkaError.INVALID_PRODUCER_ID_MAPPING)
        if known.producer.epoch != producer.epoch:
            raise RequestError(KafkaError.INVALID_PRODUCER_EPOCH)
        return known
