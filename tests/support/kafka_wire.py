"""The seam of the simulated clients to a real broker: each request is one request of Kafka's protocol, sent once.

So tests can send what no client would: a request that comes late or twice, or one of another producer. The versions are
those that librdkafka speaks where the answers depend on them.
"""

import socket
import struct
import time

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as At
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from simulation.kafka_requests import (
    AddPartitionsToTxn,
    CreatePartitions,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    DescribeTopics,
    EndTxn,
    Fetch,
    FetchedRecords,
    InitProducerId,
    ListOffsets,
    OffsetKind,
    Produce,
    ProducerIdentity,
    RequestError,
    TopicDescription,
    TopicPartition,
)
from support.kafka_record_batches import decode_batches, encode_batch

_PRODUCE, _FETCH, _LIST_OFFSETS = (0, 7), (1, 4), (2, 2)
_FIND_COORDINATOR, _INIT, _ADD, _END = (10, 1), (22, 1), (24, 0), (26, 1)
_SECONDS = 30
_MEGABYTES = 64 << 20
_NOT_READY = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}
"""Errors of a coordinator that is about to begin."""


class WireNetwork:
    """See `Network`: one connection to a broker; the topics' requests go through an admin client."""

    def __init__(self, address):
        self._address = address
        self._connections = 0
        self._connect()
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 2})
        self._created = []
        self._handlers = {
            InitProducerId: self._initialise,
            AddPartitionsToTxn: self._add_partitions,
            Produce: self._produce,
            EndTxn: self._end,
            Fetch: self._fetch,
            ListOffsets: self._list_offsets,
            DescribeTopics: self._describe,
            CreateTopic: self._create,
            CreatePartitions: self._expand,
            DeleteTopic: lambda request: self._ask_admin(self._admin.delete_topics([request.topic])),
            DeleteRecords: self._delete_records,
        }

    def reconnect(self):
        """Connect again to a broker that was restarted, and wait until it knows all it knew before."""
        self.close()
        self._connect()
        self._initialise(InitProducerId(transactional_id="reconnected", timeout_ms=1_000))
        for topic in self._created:
            self._await_leaders(topic, 1)

    def call(self, request):
        """See `Network.call`."""
        return self._handlers[type(request)](request)

    def connection(self):
        """See `Network.connection`."""
        return self._connections

    def now(self):
        """See `Network.now`."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds):
        """See `Network.sleep`."""
        time.sleep(seconds)

    def close(self):
        """End the connection."""
        self._socket.close()

    def _connect(self):
        host, port = self._address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=_SECONDS)
        self._connections += 1

    def _initialise(self, request):
        """Take over an id; the first one makes the broker's coordinator begin."""
        id_ = _text(request.transactional_id)
        self._send_when_ready(_FIND_COORDINATOR, id_ + b"\1")
        answer = self._send_when_ready(_INIT, id_ + struct.pack(">i", request.timeout_ms))
        _check(answer.number("h"))
        return ProducerIdentity(answer.number("q"), answer.number("h"))

    def _send_when_ready(self, api, body):
        while _Reader(answer := self._send(api, body), 4).number("h") in _NOT_READY:
            time.sleep(0.1)
        return _Reader(answer, 4)

    def _add_partitions(self, request):
        body = (
            _text(request.transactional_id)
            + struct.pack(">qh", *request.producer)
            + struct.pack(">i", len(request.partitions))
        )
        for at in request.partitions:
            body += _text(at.topic) + struct.pack(">ii", 1, at.partition)
        answer = _Reader(self._send(_ADD, body), 4)
        codes = []
        for _ in range(answer.number("i")):
            answer.text()
            codes += [answer.numbers("ih")[1] for _ in range(answer.number("i"))]
        for code in sorted(codes, key=lambda code: code in (0, KafkaError.OPERATION_NOT_ATTEMPTED)):
            _check(code)

    def _produce(self, request):
        batch = encode_batch(request.producer, request.sequence, request.records)
        body = (
            _text(request.transactional_id)
            + struct.pack(">hii", -1, _SECONDS * 1000, 1)
            + _text(request.partition.topic)
        )
        body += struct.pack(">iii", 1, request.partition.partition, len(batch)) + batch
        answer = _Reader(self._send(_PRODUCE, body), 4)
        answer.text()
        _, _, code, offset = answer.numbers("iihq")
        _check(code)
        return offset

    def _end(self, request):
        body = _text(request.transactional_id) + struct.pack(">qh?", *request.producer, request.commit)
        _check(_Reader(self._send(_END, body), 4).number("h"))

    def _fetch(self, request):
        """Read to the end, with one request after another: each brings what is in one segment at the most."""
        records, offset = [], request.offset
        while len(records) <= request.maximum_records:
            batches, aborted, end = self._fetch_once(request.partition, offset, request.read_committed)
            records += [record for record in _readable(batches, aborted) if record.offset >= request.offset]
            offset = max((batch.next_offset for batch in batches), default=max(end, offset))
            if offset >= end:
                break
        more = records[request.maximum_records :]
        next_offset = more[0].offset if more else offset
        return FetchedRecords(records=tuple(records[: request.maximum_records]), next_offset=next_offset)

    def _fetch_once(self, at, offset, read_committed):
        body = struct.pack(">iiii?i", -1, 0, 0, _MEGABYTES, read_committed, 1) + _text(at.topic)
        body += struct.pack(">iiqi", 1, at.partition, offset, _MEGABYTES)
        answer = _Reader(self._send(_FETCH, body), 8)
        answer.text()
        _, _, code, high_watermark, stable = answer.numbers("iihqq")
        _check(code)
        aborted = [answer.numbers("qq") for _ in range(max(answer.number("i"), 0))]
        return list(decode_batches(answer.rest())), aborted, stable if read_committed else high_watermark

    def _list_offsets(self, request):
        found = self.call(DescribeTopics(topics=request.topics))
        offsets = {}
        wanted = -2 if request.kind is OffsetKind.EARLIEST else -1
        for topic, description in found.items():
            body = (
                struct.pack(">i?i", -1, request.read_committed, 1)
                + _text(topic)
                + struct.pack(">i", description.partitions)
            )
            body += b"".join(struct.pack(">iq", partition, wanted) for partition in range(description.partitions))
            answer = _Reader(self._send(_LIST_OFFSETS, body), 8)
            answer.text()
            for _ in range(answer.number("i")):
                partition, code, _, offset = answer.numbers("ihqq")
                _check(code)
                offsets[TopicPartition(topic, partition)] = offset
        return offsets

    def _describe(self, request):
        described = {}
        for topic, future in self._admin.describe_topics(TopicCollection(list(request.topics))).items():
            try:
                found = future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise RequestError(error.args[0].code()) from error
            else:
                described[topic] = TopicDescription(id=str(found.topic_id), partitions=len(found.partitions))
        return described

    def _create(self, request):
        settings = request.settings
        config = {
            "max.message.bytes": str(settings.maximum_bytes),
            "delete.retention.ms": str(settings.delete_retention_ms),
            "retention.ms": "-1",
            **({} if settings.timestamps_after_ms else {"message.timestamp.after.max.ms": str(2**63 - 1)}),
            **(_CLEANED if settings.compacted else {}),
        }
        self._ask_admin(self._admin.create_topics([NewTopic(request.topic, request.partitions, 1, config=config)]))
        self._created.append(request.topic)
        self._await_leaders(request.topic, request.partitions)

    def _expand(self, request):
        self._ask_admin(self._admin.create_partitions([NewPartitions(request.topic, request.partitions)]))
        self._await_leaders(request.topic, request.partitions)

    def _await_leaders(self, topic, partitions):
        """Wait until the broker, which knows of a topic already, has opened its partitions."""
        found = {}
        while len(found) < partitions:
            try:
                found = self.call(ListOffsets(topics=(topic,), kind=OffsetKind.LATEST))
            except RequestError as error:
                if error.code != KafkaError.NOT_LEADER_FOR_PARTITION:
                    raise
            time.sleep(0.01)

    def _delete_records(self, request):
        self._ask_admin(self._admin.delete_records([At(*request.partition, request.offset)]))

    def _ask_admin(self, futures):
        for future in futures.values():
            try:
                future.result()
            except KafkaException as error:
                raise RequestError(error.args[0].code()) from error

    def _send(self, api, body):
        key, version = api
        request = struct.pack(">hhi", key, version, 1) + _text("test") + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)[4:]

    def _receive(self, size):
        data = bytearray()
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the broker has ended the connection: it could not read the request"
            data += more
        return bytes(data)


_CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "segment.ms": "50"}
"""The cleaner takes what it can at any time; a segment is closed by the next record that comes 50 ms later."""


class _Reader:
    """Reads an answer from a place on."""

    def __init__(self, data, place):
        self._data, self._place = data, place

    def numbers(self, form):
        found = struct.unpack_from(f">{form}", self._data, self._place)
        self._place += struct.calcsize(f">{form}")
        return found

    def number(self, form):
        return self.numbers(form)[0]

    def text(self):
        length = self.number("h")
        self._place += length

    def rest(self):
        size = max(self.number("i"), 0)
        return self._data[self._place : self._place + size]


def _readable(batches, aborted):
    """Leave out what markers don't let through: the records of aborted transactions, and the markers."""
    waiting = sorted(aborted, key=lambda transaction: transaction[1])
    ending = set()
    records = []
    for batch in batches:
        while waiting and waiting[0][1] <= batch.offset:
            ending.add(waiting.pop(0)[0])
        if batch.marker is not None:
            ending.discard(batch.producer_id)
        elif batch.producer_id not in ending:
            records += batch.records
    return records


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


def _check(code):
    if code:
        raise RequestError(code)
