"""Writes a processor's rows to intermediate streams, buffered per partition, then control messages."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamapp_core.control.control_codec import encode
from streamapp_core.control.messages import ControlMessage, UserMessage
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
    follow the rows sent before them in every partition: they never overtake data (docs/control-messages.md).
    """

    def __init__(
        self, producer: Producer, streams: Mapping[str, tuple[str, int]], schemas: Mapping[str, pa.Schema]
    ) -> None:
        """Write to these intermediate streams: name -> system and partition count, and the columns of their rows."""
        self._producer = producer
        self._streams = streams
        self._schemas = schemas
        self._buffers = {stream: RowBuffer() for stream in streams}
        self._keys: dict[str, RecordKey | None] = {}

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
            self._producer.send(Ssp(system, stream, partition), value, timestamp=now)

    def send_empty(self, now: int) -> None:
        """Send a message without rows to every partition: it ends what brokers have forgotten to end there."""
        for stream, schema in self._schemas.items():
            system, count = self._streams[stream]
            value = encode(UserMessage(data=encode_rows(schema.empty_table())))
            for partition in range(count):
                self._producer.send(Ssp(system, stream, partition), value, timestamp=now)

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
            self._producer.send_all(ssp, SentRecords(timestamps=None, keys=[None], values=[message]))
