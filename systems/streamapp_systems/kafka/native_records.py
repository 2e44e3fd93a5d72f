"""The source of a client's records that makes columns of them, by the native library.

Records of assigned partitions go to a queue of its own. The client's own queue, which is polled too, has what calls
Python, and errors that belong to no partition. That brokers miss a topic for a moment is told to its partitions, too.
"""

import ctypes
from collections.abc import Sequence

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, TopicPartition

from streamapp_systems.kafka.kafka_errors import MISSING
from streamapp_systems.kafka.record_source import ClientRecords, Received, RecordSource, SourceEvent, received
from streamapp_systems.native.kafka_reading import QueueEvent, QueueReader, TakenRecords, reading_functions
from streamapp_systems.native.library import SWITCH, native_library
from streamapp_systems.native.librdkafka import handle_of, librdkafka
from streamapp_systems.protocols import StreamSystemError


def open_records(client: Client) -> RecordSource:
    """Return the native source of a client's records; where it can't be, the one that makes objects."""
    native, kafka, handle = native_library().functions, librdkafka(), handle_of(client)
    if native is None or kafka is None or handle is None:
        return ClientRecords(client)
    return NativeRecords(client, ClientQueue(native, kafka, handle))


class ClientQueue:
    """A queue of a client that takes the records of its partitions. Used by one thread."""

    def __init__(self, native: ctypes.CDLL, kafka: ctypes.CDLL, handle: int) -> None:
        """Create the queue of a client with this handle."""
        self._kafka = kafka
        self._handle = ctypes.c_void_p(handle)
        for function in (kafka.rd_kafka_queue_new, kafka.rd_kafka_queue_get_partition):
            function.restype = ctypes.c_void_p
        for nothing in (kafka.rd_kafka_queue_forward, kafka.rd_kafka_queue_destroy):
            nothing.restype = None
        self._queue = ctypes.c_void_p(kafka.rd_kafka_queue_new(self._handle))
        assert self._queue.value is not None
        self._reader = QueueReader(native, reading_functions(kafka), self._queue.value)

    def take_over(self, topic: str, partition: int) -> None:
        """Have a partition's records come to this queue; the partition is not assigned yet."""
        own = self._kafka.rd_kafka_queue_get_partition(self._handle, topic.encode(), ctypes.c_int32(partition))
        self._kafka.rd_kafka_queue_forward(ctypes.c_void_p(own), self._queue)
        self._kafka.rd_kafka_queue_destroy(ctypes.c_void_p(own))

    def take(self, most: int, milliseconds: int) -> TakenRecords:
        """See `QueueReader.take`."""
        return self._reader.take(most, milliseconds)

    def close(self) -> None:
        """Release the queue with what is in it."""
        self._kafka.rd_kafka_queue_destroy(self._queue)


class NativeRecords:
    """See `RecordSource`."""

    def __init__(self, client: Client, queue: ClientQueue) -> None:
        self._client = client
        self._queue = queue

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """See `RecordSource.assign`."""
        for at in partitions:
            self._queue.take_over(at.topic, at.partition)
        self._client.assign(list(partitions))

    def receive(self, most: int) -> Received:
        """See `RecordSource.receive`."""
        return self._with_own(self._queue.take(most, 0))

    def wait(self, seconds: float) -> Received:
        """See `RecordSource.wait`; the client's own queue is looked at before and after."""
        first = self._with_own(TakenRecords(taken=0))
        return first if first.count else self._with_own(self._queue.take(1, max(1, int(seconds * 1000))))

    def close(self) -> None:
        """See `RecordSource.close`."""
        self._queue.close()

    def _with_own(self, taken: TakenRecords) -> Received:
        """Return what was taken, and behind it what the client's own queue has, if it has something.

        Raises:
            StreamSystemError: it has a record, which perhaps should have come before others.
        """
        record = self._client.poll(0)
        own = received([] if record is None else [record])
        for (topic, partition), run in own.runs:
            raise StreamSystemError(
                f"topic {topic}, partition {partition}: the record at offset {run.first_offset} came by a way that no "
                f"record takes, perhaps too late. Set {SWITCH}=off, and report this"
            )
        events = list(map(_event, taken.events))
        problems = [event.error for event in events if event.error.code() in MISSING]
        return Received(
            count=taken.taken - len(problems) + own.count,
            runs=taken.records,
            events=[*(event for event in events if event.error.code() not in MISSING), *own.events],
            problems=problems,
        )


def _event(event: QueueEvent) -> SourceEvent:
    error = KafkaError(event.code, event.reason or None)
    return SourceEvent(place=(event.topic, event.partition), offset=event.offset, error=error)
