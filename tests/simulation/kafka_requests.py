"""The requests that clients send to a simulated Kafka broker, their answers, and the seam that carries them.

They are Kafka's own requests, reduced to what the clients here use, with the versions that librdkafka speaks: a
transaction does not raise its producer's epoch (transactions version 1), and a fenced producer is told
INVALID_PRODUCER_EPOCH. Codes of errors are those of `confluent_kafka.KafkaError`. Times are milliseconds since 1970.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

from confluent_kafka import KafkaError

Answer = TypeVar("Answer")

HOUR = 60 * 60 * 1000
DAY = 24 * HOUR


class NoAnswer(Exception):  # noqa: N818 - what a client knows
    """No answer came: the request may have been applied, may be applied later, or never."""


class RequestError(Exception):
    """A broker's answer is an error; `code` is Kafka's."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        """Return Kafka's name of the error."""
        return KafkaError(self.code).name()


class Network(Protocol):
    """One client's way to the brokers, and its clock.

    Who implements it decides what becomes of each call: it may delay, lose or repeat the request, lose the answer,
    or answer with an error of its own. `call` and `sleep` are the points where other clients may go on meanwhile.
    """

    def call(self, request: "Request[Answer]") -> Answer:
        """Return the broker's answer.

        Raises:
            RequestError: the answer is an error.
            NoAnswer: none came.
        """
        ...

    def connection(self) -> int:
        """Return the number of the connection: another one once the broker was gone, whether it was asked or not."""
        ...

    def now(self) -> int:
        """Return the time of day in milliseconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, which lets others go on."""
        ...


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class ProducerIdentity(NamedTuple):
    """The producer id and epoch under which a producer writes."""

    id: int
    epoch: int


class KafkaRecord(NamedTuple):
    """One record, as it is sent."""

    timestamp: int
    key: bytes | None
    value: bytes | None


class FetchedRecord(NamedTuple):
    """One record, as it is read."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class OffsetKind(Enum):
    """The offsets that can be asked for."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """The settings of a topic; the defaults are Kafka's."""

    compacted: bool = False
    delete_retention_ms: int = DAY
    maximum_bytes: int = 1_048_588
    timestamps_after_ms: int | None = HOUR
    """Milliseconds that a timestamp may lie in the future; None if as many as it likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """A topic's id, which no other topic ever had, the number of its partitions, and its settings if known."""

    id: str
    partitions: int
    settings: TopicSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRecords:
    """Records of one partition in order; reading goes on at `next_offset`, beyond markers and aborted records."""

    records: tuple[FetchedRecord, ...]
    next_offset: int


class Request(Generic[Answer]):
    """A request; its type parameter is what a broker answers."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId(Request[ProducerIdentity]):
    """Take over a transactional id: earlier producers are fenced, and what is open is aborted."""

    transactional_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxn(Request[None]):
    """Add partitions to the open transaction, opening one if there is none."""

    transactional_id: str
    producer: ProducerIdentity
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce(Request[int]):
    """Append a batch to one partition; returns the offset of its first record.

    `sequence` counts the producer's records in this partition since it has its epoch.
    """

    transactional_id: str
    producer: ProducerIdentity
    partition: TopicPartition
    sequence: int
    records: tuple[KafkaRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxn(Request[None]):
    """Commit or abort the open transaction; the markers are written later."""

    transactional_id: str
    producer: ProducerIdentity
    commit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch(Request[FetchedRecords]):
    """Read a partition from an offset on."""

    partition: TopicPartition
    offset: int
    maximum_records: int
    read_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets(Request[Mapping[TopicPartition, int]]):
    """Return one kind of offset of all partitions of topics, those that exist.

    With a `timestamp` it is that of the first record which is not older, of those before it; that one if none is.
    """

    topics: tuple[str, ...]
    kind: OffsetKind
    timestamp: int | None = None
    read_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopics(Request[Mapping[str, TopicDescription]]):
    """Describe topics, those that exist; all if none are named."""

    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic(Request[None]):
    """Create a topic."""

    topic: str
    partitions: int
    settings: TopicSettings = field(default_factory=TopicSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitions(Request[None]):
    """Raise the number of a topic's partitions."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(Request[None]):
    """Delete a topic with all it holds."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(Request[None]):
    """Delete the records of a partition below an offset."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGroupOffsets(Request[None]):
    """Set the offsets of a consumer group."""

    group: str
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup(Request[None]):
    """Delete a consumer group with its offsets."""

    group: str
