"""The records that a client has fetched: as objects of the client, or as columns by the native library."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, TypeAlias

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka import Message as Record

from streamapp_systems.kafka.record_runs import RecordMessages, RecordRun

Place: TypeAlias = tuple[str | None, int | None]
"""A topic and a partition of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """An event in place of a record: an error, or the end of a partition, which is one to the client."""

    place: Place
    offset: int | None
    error: KafkaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """The records and events of one look: `count` of them; runs of a partition are in order, events come after them.

    `problems` are those of which a client tells by a callback, and which may pass.
    """

    count: int = 0
    runs: Sequence[tuple[Place, RecordRun]] = ()
    events: Sequence[SourceEvent] = ()
    problems: Sequence[KafkaError] = ()


class RecordSource(Protocol):
    """The source of a client's records. Used by one thread; the client stays its owner's."""

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Have the client read these partitions."""
        ...

    def receive(self, most: int) -> Received:
        """Take up to so many records and events of those that were fetched, without waiting."""
        ...

    def wait(self, seconds: float) -> Received:
        """Wait so long for one record or event, and take it."""
        ...

    def close(self) -> None:
        """Release what the source holds; the client is closed after it."""
        ...


class ClientRecords:
    """The source that makes an object of each record."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """See `RecordSource.assign`."""
        self._client.assign(list(partitions))

    def receive(self, most: int) -> Received:
        """See `RecordSource.receive`."""
        return received(self._client.consume(most, 0))

    def wait(self, seconds: float) -> Received:
        """See `RecordSource.wait`."""
        record = self._client.poll(seconds)
        return received([] if record is None else [record])

    def close(self) -> None:
        """See `RecordSource.close`."""


def received(records: Sequence[Record]) -> Received:
    """Divide a client's records into runs and events."""
    runs: list[tuple[Place, RecordRun]] = []
    events: list[SourceEvent] = []
    start = 0
    for place, run in groupby(zip(map(Record.topic, records), map(Record.partition, records), strict=True)):
        here = records[start : start + len(list(run))]
        start += len(here)
        if any(map(Record.error, here)):
            events += [
                SourceEvent(place=place, offset=record.offset(), error=error)
                for record in here
                if (error := record.error()) is not None
            ]
            here = [record for record in here if record.error() is None]
        if here:
            runs.append((place, RecordMessages(here)))
    return Received(count=len(records), runs=runs, events=events)
