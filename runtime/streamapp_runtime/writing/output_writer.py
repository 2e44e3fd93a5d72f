"""Writes a processor's rows to outputs that are streams: messages in the partitions of their keys."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.check_avro_keys import key_columns_of
from streamapp_core.plan.plan import PlannedStream
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.streams import KeyFormat, RecordTime
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_keys import avro_keys
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

_ENCODED_BYTES = 64 << 20
"""Bytes of rows that are encoded at once: what becomes of them must fit a column, which has room for 2 GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputHeaders:
    """The ids of registered schemas that values and keys of outputs begin with, by stream."""

    values: Mapping[str, bytes] = field(default_factory=dict)
    keys: Mapping[str, bytes] = field(default_factory=dict)


_NO_HEADERS = OutputHeaders()


class OutputWriter:
    """Buffers the rows of all tasks of a processor; those of one task keep their order.

    A message's timestamp is the event time of its row (the time of day of rows without one), or the time of writing.
    """

    def __init__(
        self, producer: Producer, time_of_day: Callable[[], int], headers: OutputHeaders = _NO_HEADERS
    ) -> None:
        """Take what values of Avro and Protobuf, and keys of Avro, begin with."""
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
        if rows.nbytes > _ENCODED_BYTES and len(rows) > 1:
            half = len(rows) // 2
            self._send_rows(stream, rows.slice(0, half), spread)
            self._send_rows(stream, rows.slice(half), spread)
            return
        rows, places = sort_by_partition(rows, self._partitions(stream, rows, spread))
        times = None
        if written_time(stream) is RecordTime.EVENT_TIME:
            times = pc.fill_null(rows.column(EVENT_TIME_COLUMN), self._time_of_day()).to_numpy()
        values = _values(stream, without_event_time(rows), self._headers.values.get(stream.name, b""))
        records = SentRecords(timestamps=times, keys=self._keys(stream, rows), values=values)
        for partition, place in places:
            self._producer.send_all(Ssp(stream.system, stream.name, partition), records[place])

    def _keys(self, stream: PlannedStream, rows: pa.Table) -> pa.BinaryArray:
        if not stream.key:
            return pa.nulls(len(rows), pa.binary())
        values, form = self._key_values(stream, rows)
        return key_bytes(values.combine_chunks(), form).cast(pa.binary())

    def _partitions(self, stream: PlannedStream, rows: pa.Table, spread: int) -> npt.NDArray[np.int64]:
        if not stream.key:
            return np.full(len(rows), spread % stream.partitions)
        values, form = self._key_values(stream, rows)
        return partition_numbers(values, stream.partitions, form)

    def _key_values(self, stream: PlannedStream, rows: pa.Table) -> tuple[pa.ChunkedArray, KeyFormat]:
        """Return the key of each row, and how it is encoded; one of Avro is encoded already."""
        if stream.key_format is not KeyFormat.AVRO:
            return record_key(stream).values(rows), stream.key_format
        assert stream.schema is not None, "what is sent to a stream with keys of Avro has one schema"
        assert stream.spec is not None, "an output is declared"
        columns = key_columns_of(stream.schema, stream.spec)
        return avro_keys(rows, columns, self._headers.keys[stream.name]), KeyFormat.STRING


def _values(stream: PlannedStream, rows: pa.Table, header: bytes) -> pa.BinaryArray:
    """Encode rows; one that deletes its key has no value."""
    if DELETED_COLUMN not in rows.column_names:
        return encode_messages(rows, stream.spec, header, stream.schema)
    values = encode_messages(rows.drop_columns([DELETED_COLUMN]), stream.spec, header, stream.schema)
    deleted = pc.fill_null(rows.column(DELETED_COLUMN), False).combine_chunks()
    return pc.if_else(deleted, pa.scalar(None, pa.binary()), values)
