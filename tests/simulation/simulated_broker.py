"""A simulated Kafka broker: a state machine of requests, without threads, clock or chance.

`handle` applies one request. What a broker does by itself are methods that somebody else calls when it is time:
markers (`write_marker`), time-outs of transactions (`abort_expired_transactions`), compaction, retention, deaths.
All times are passed in, in milliseconds since 1970.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    AddPartitionsToTxn,
    Answer,
    CommitGroupOffsets,
    CreatePartitions,
    CreateTopic,
    DeleteGroup,
    DeleteRecords,
    DeleteTopic,
    DescribeTopics,
    EndTxn,
    Fetch,
    FetchedRecords,
    InitProducerId,
    ListOffsets,
    NoAnswer,
    OffsetKind,
    Produce,
    Request,
    RequestError,
    TopicDescription,
    TopicPartition,
)
from simulation.simulated_coordinator import Coordinator, DueMarker, TransactionState
from simulation.simulated_topics import SimulatedTopics


def forgets_nothing(at: TopicPartition, commit: bool) -> bool:
    """Return False: a node writes all markers when it is back."""
    return False


class SimulatedBroker:
    """One node: its topics, its coordinator of transactions, and consumer groups. Not thread-safe."""

    def __init__(self) -> None:
        self.topics = SimulatedTopics()
        self.alive = True
        self.deaths = 0
        self._coordinator = Coordinator()
        self._groups: dict[str, dict[TopicPartition, int]] = {}
        self._handlers: Mapping[type, Callable[[Any, int], Any]] = {
            InitProducerId: self._coordinator.initialise,
            AddPartitionsToTxn: self._add_partitions,
            Produce: self._produce,
            EndTxn: self._coordinator.end,
            Fetch: self._fetch,
            ListOffsets: self._list_offsets,
            DescribeTopics: self._describe,
            CreateTopic: lambda request, _: self.topics.create(request),
            CreatePartitions: lambda request, _: self.topics.expand(request),
            DeleteTopic: lambda request, _: self.topics.delete(request.topic),
            DeleteRecords: self._delete_records,
            CommitGroupOffsets: self._commit_group_offsets,
            DeleteGroup: self._delete_group,
        }

    def handle(self, request: Request[Answer], now: int) -> Answer:
        """Apply a request and return the answer.

        Raises:
            RequestError: the answer is an error.
            NoAnswer: the broker is dead.
        """
        if not self.alive:
            raise NoAnswer
        return cast("Answer", self._handlers[type(request)](request, now))

    def due_markers(self) -> Sequence[DueMarker]:
        """Return the markers of decided transactions that are not written yet; none while the broker is dead."""
        return list(self._coordinator.due_markers()) if self.alive else []

    def write_marker(self, marker: DueMarker, now: int) -> None:
        """Write one of the due markers; that of a partition that is gone counts as written."""
        producer, commit = self._coordinator.take_marker(marker)
        log = self.topics.find(marker.partition)
        if log is not None:
            log.append_marker(producer, commit=commit, now=now)

    def abort_expired_transactions(self, now: int) -> None:
        """Abort the transactions that have been open for longer than their producers said."""
        if self.alive:
            self._coordinator.abort_expired(now)

    def compact(self, now: int) -> None:
        """Compact the topics that are compacted, as the cleaner does at any time."""
        for log in self.topics.logs():
            if log.settings.compacted:
                log.compact(now)

    def die(self, *, forgets: Callable[[TopicPartition, bool], bool] = forgets_nothing) -> None:
        """Stop answering. What was answered is kept.

        A node without others that dies right after it decided a transaction may take it for complete when it is back,
        and never write its markers (seen with Kafka 4.3.1): those that it `forgets`, by the partition and whether the
        transaction was committed.
        """
        self._coordinator.forget_markers(forgets)
        self.alive = False
        self.deaths += 1

    @property
    def has_forgotten(self) -> bool:
        """Whether it has ever forgotten markers."""
        return self._coordinator.has_forgotten

    def start(self) -> None:
        """Answer again, and go on with what was decided."""
        self.alive = True

    def transaction_state(self, transactional_id: str) -> TransactionState:
        """Return the state of a transactional id."""
        return self._coordinator.state(transactional_id)

    def group_offsets(self, group: str) -> Mapping[TopicPartition, int]:
        """Return the offsets of a consumer group."""
        return self._groups.get(group, {})

    def _add_partitions(self, request: AddPartitionsToTxn, now: int) -> None:
        for partition in request.partitions:
            self.topics.log(partition)
        self._coordinator.add_partitions(request, now)

    def _produce(self, request: Produce, now: int) -> int:
        """Append a batch; nobody begins a transaction in a partition that the coordinator does not know of."""
        log = self.topics.log(request.partition)
        if not log.has_open_transaction(request.producer):
            log.note_attempt(request.producer, request.sequence)
            self._coordinator.verify(request.transactional_id, request.producer, request.partition)
        return log.append(request.producer, request.sequence, request.records, now)

    def _fetch(self, request: Fetch, now: int) -> FetchedRecords:
        log = self.topics.log(request.partition)
        return log.read(request.offset, request.maximum_records, read_committed=request.read_committed)

    def _list_offsets(self, request: ListOffsets, now: int) -> Mapping[TopicPartition, int]:
        offsets: dict[TopicPartition, int] = {}
        for topic in request.topics:
            for partition, log in enumerate(self.topics.logs_of(topic)):
                latest = log.last_stable_offset if request.read_committed else log.high_watermark
                wanted = log.start_offset if request.kind is OffsetKind.EARLIEST else latest
                if request.timestamp is not None:
                    wanted = log.offset_for_time(request.timestamp, wanted)
                offsets[TopicPartition(topic, partition)] = wanted
        return offsets

    def _describe(self, request: DescribeTopics, now: int) -> Mapping[str, TopicDescription]:
        return self.topics.describe(request.topics)

    def _delete_records(self, request: DeleteRecords, now: int) -> None:
        log = self.topics.log(request.partition)
        if log.settings.compacted:
            raise RequestError(KafkaError.POLICY_VIOLATION)
        log.delete_before(request.offset)

    def _commit_group_offsets(self, request: CommitGroupOffsets, now: int) -> None:
        for partition in request.offsets:
            self.topics.log(partition)
        self._groups.setdefault(request.group, {}).update(request.offsets)

    def _delete_group(self, request: DeleteGroup, now: int) -> None:
        if self._groups.pop(request.group, None) is None:
            raise RequestError(KafkaError.GROUP_ID_NOT_FOUND)
