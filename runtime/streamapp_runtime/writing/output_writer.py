"""Writes a processor's rows to outputs that are streams: messages in the partitions of their keys."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.plan import PlannedStream
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.streams import RecordTime
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.event_time_column import without_event_time
from streamapp_runtime.rows.message_formats import encode_messages
from streamapp_runtime.rows.partitioning import key_bytes, partition_numbers
from streamapp_runtime.rows.record_keys import record_key
from streamapp_runtime.rows.tombstones import DELETED_COLUMN
from streamapp_runtime.writing.record_check import written_time
from streamapp_runtime.writing.row_buffer import RowBuffer, sort_by_partition
from streamapp_systems.protocols import Producer, SentRecords

_BUFFERED_ROWS = 20_000
"""Few enough to be still in the CPU's cache when they are written."""


class OutputWriter:
    """Buffers the rows of all tasks of a processor; those of one task keep their order.

    A message's timestamp is the event time of its row (the time of day of rows without one), or the time of writing.
    """

    def __init__(
        self, producer: Producer, time_of_day: Callable[[], int], headers: Mapping[str, bytes] = MappingProxyType({})
    ) -> None:
        """Take what values of Avro and Protobuf begin with, by stream."""
        self._producer = producer
        self._headers = headers
        self._time_of_day = time_of_day
        self._buffers: dict[tuple[str, int], tuple[PlannedStream, RowBuffer]] = {}

    def add(self, stream: PlannedStream, rows: pa.Table, spread: int) -> None:
        """Add rows; in a stream without a key they go to partition `spread`, modulo their number."""
        place = (stream.name, spread if not stream.key else 0)
        _, buffer = self._buffers.setdefault(place, (stream, RowBuffer()))
        if not buffer.fits(rows):
            self._send_rows(stream, buffer.drain(), spread)
        buffer.add(rows)
        if buffer.count >= _BUFFERED_ROWS:
            self._send_rows(stream, buffer.drain(), spread)

    def flush(self) -> None:
        """Send all buffered rows."""
        for (_, spread), (stream, buffer) in self._buffers.items():
            if buffer.count:
                self._send_rows(stream, buffer.drain(), spread)

    def _send_rows(self, stream: PlannedStream, rows: pa.Table, spread: int) -> None:
        rows, places = sort_by_partition(rows, _partitions(stream, rows, spread))
        times = None
        if written_time(stream) is RecordTime.EVENT_TIME:
            times = pc.fill_null(rows.column(EVENT_TIME_COLUMN), self._time_of_day()).to_numpy().tolist()
        values = _values(stream, without_event_time(rows), self._headers.get(stream.name, b""))
        records = SentRecords(timestamps=times, keys=_keys(stream, rows), values=values)
        for partition, place in places:
            self._producer.send_all(Ssp(stream.system, stream.name, partition), records[place])


def _values(stream: PlannedStream, rows: pa.Table, header: bytes) -> list[bytes | None]:
    """Encode rows; one that deletes its key has no value."""
    if DELETED_COLUMN not in rows.column_names:
        return encode_messages(rows, stream.spec, header, stream.schema)
    values = encode_messages(rows.drop_columns([DELETED_COLUMN]), stream.spec, header, stream.schema)
    deleted = rows.column(DELETED_COLUMN).to_pylist()
    return [None if gone else value for value, gone in zip(values, deleted, strict=True)]


def _keys(stream: PlannedStream, rows: pa.Table) -> list[bytes | None]:
    if not stream.key:
        return [None] * len(rows)
    values = record_key(stream).values(rows).combine_chunks()
    keys: list[bytes | None] = key_bytes(values, stream.key_format).to_pylist()
    return keys


def _partitions(stream: PlannedStream, rows: pa.Table, spread: int) -> npt.NDArray[np.int64]:
    if not stream.key:
        return np.full(len(rows), spread % stream.partitions)
    return partition_numbers(record_key(stream).values(rows), stream.partitions, stream.key_format)
