"""Writes a processor's rows to intermediate streams, buffered per partition, then control messages."""

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from streamapp_core.control.control_codec import encode
from streamapp_core.control.messages import ControlMessage, UserMessage
from streamapp_core.control.sequence_numbers import SentSequences, encode_key
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.arrow_ipc import encode_rows
from streamapp_runtime.rows.partitioning import partition_numbers
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.writing.row_buffer import RowBuffer, sort_by_partition
from streamapp_systems.protocols import Producer, SentRecords

_BUFFERED_ROWS = 100_000
_MESSAGE_ROWS = 10_000
_MESSAGE_BYTES = 900_000
"""A little less than the default limits of Kafka's clients and brokers."""


class IntermediateWriter:
    """Buffers the rows of all tasks of a processor, so that a partition gets few large messages.

    Rows of one task keep their order. Messages have the time of writing; their rows have event times. Control messages
    follow the rows sent before them in every partition: they never overtake data (docs/control-messages.md). Messages
    are numbered as those of the processor's first task, whose checkpoint is in every commit.
    """

    def __init__(
        self,
        producer: Producer,
        streams: Mapping[str, tuple[str, int]],
        schemas: Mapping[str, pa.Schema],
        tasks: Collection[str],
    ) -> None:
        """Write to these intermediate streams: name -> system and partition count, and the columns of their rows.

        `tasks` are those of the processor.
        """
        self._producer = producer
        self._streams = streams
        self._schemas = schemas
        self._buffers = {stream: RowBuffer() for stream in streams}
        self._keys: dict[str, RecordKey | None] = {}
        counts = {stream: count for stream, (_, count) in streams.items()}
        self._sender = min(tasks, default="")
        self.sent = {task: SentSequences(counts) for task in tasks}
        """The numbers that messages of each task have had; its checkpoint restores them."""

    def add(self, stream: str, rows: pa.Table, key: RecordKey | None) -> None:
        """Add rows, each for the partition of its key; without a key all go to the first partition."""
        buffer, self._keys[stream] = self._buffers[stream], key
        buffer.add(rows)
        if buffer.count >= _BUFFERED_ROWS:
            self._send_rows(stream)

    def flush(self) -> None:
        """Send all buffered rows."""
        for stream in self._streams:
            self._send_rows(stream)

    def send_control(self, stream: str, message: ControlMessage, now: int) -> None:
        """Send a control message to every partition of a stream, after the rows added so far."""
        self._send_rows(stream)
        system, count = self._streams[stream]
        value = encode(message)
        for partition in range(count):
            self._send(self._sender, Ssp(system, stream, partition), value, now)

    def send_empty(self, now: int) -> None:
        """Send messages without rows to every partition: they end what brokers have forgotten to end there.

        There is one of each task that has ever sent any: readers learn from its number whether they have read them all.
        That of a processor without tasks has none.
        """
        for stream, schema in self._schemas.items():
            system, count = self._streams[stream]
            value = encode(UserMessage(data=encode_rows(schema.empty_table())))
            for partition in range(count):
                ssp = Ssp(system, stream, partition)
                senders = {task for task, sent in self.sent.items() if sent.has_taken(stream, partition)}
                for sender in sorted(senders | {self._sender}):
                    self._send(sender, ssp, value, now)

    def _send(self, sender: str, ssp: Ssp, value: bytes, now: int) -> None:
        self._producer.send(ssp, value, key=self._next_key(sender, ssp), timestamp=now)

    def _next_key(self, sender: str, ssp: Ssp) -> bytes | None:
        return encode_key(sender, self.sent[sender].take_next(ssp.stream, ssp.partition)) if sender else None

    def _send_rows(self, stream: str) -> None:
        if not self._buffers[stream].count:
            return
        rows, key = self._buffers[stream].drain(), self._keys[stream]
        system, count = self._streams[stream]
        partitions = np.zeros(len(rows), np.int64) if key is None else partition_numbers(key.values(rows), count)
        rows, places = sort_by_partition(rows, partitions)
        for partition, place in places:
            self._send_partition(Ssp(system, stream, partition), rows[place])

    def _send_partition(self, ssp: Ssp, rows: pa.Table) -> None:
        most = min(_MESSAGE_ROWS, max(len(rows) * _MESSAGE_BYTES // max(rows.nbytes, 1), 1))
        for start in range(0, len(rows), most):
            self._send_message(ssp, rows.slice(start, most).combine_chunks())

    def _send_message(self, ssp: Ssp, rows: pa.Table) -> None:
        """Send rows as one message; as two or more where rows are longer than most are."""
        message = encode(UserMessage(data=encode_rows(rows)))
        if len(message) > _MESSAGE_BYTES and len(rows) > 1:
            half = len(rows) // 2
            self._send_message(ssp, rows.slice(0, half))
            self._send_message(ssp, rows.slice(half))
        else:
            key = self._next_key(self._sender, ssp)
            self._producer.send_all(ssp, SentRecords.of(timestamps=None, keys=[key], values=[message]))
