"""Takes records from the library behind Python's Kafka client as columns (`kafka_reading.c`)."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from streamapp_systems.protocols import MessageColumns

Place: TypeAlias = tuple[str, int]
"""A topic and a partition of it."""

MOST = 10_000
"""Records that are taken at once."""

_LARGEST = (1 << 31) - 1
"""Bytes of a column."""

_FUNCTIONS = (
    "queue_poll",
    "event_type",
    "event_message_next",
    "event_error",
    "event_error_string",
    "event_topic_partition",
    "event_destroy",
    "topic_partition_destroy",
    "message_timestamp",
    "message_headers",
    "header_get_all",
    "topic_name",
)


class ReadingFunctions(ctypes.Structure):
    """`struct reading_functions`: addresses of functions."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in _FUNCTIONS)


def reading_functions(kafka: ctypes.CDLL) -> ReadingFunctions:
    """Return the functions of librdkafka that are needed."""
    addresses = (ctypes.cast(getattr(kafka, f"rd_kafka_{name}"), ctypes.c_void_p) for name in _FUNCTIONS)
    return ReadingFunctions(*addresses)


class _TakenEvent(ctypes.Structure):
    """`struct taken_event`."""

    _fields_ = (("event", ctypes.c_void_p), ("message", ctypes.c_void_p), ("place", ctypes.c_void_p))


class _MessageRun(ctypes.Structure):
    """`struct message_run`."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("reason", ctypes.c_char_p),
        ("offset", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("key_bytes", ctypes.c_int64),
        ("value_bytes", ctypes.c_int64),
        ("header_bytes", ctypes.c_int64),
        ("null_keys", ctypes.c_int64),
        ("null_values", ctypes.c_int64),
        ("partition", ctypes.c_int32),
        ("error", ctypes.c_int32),
    )


class _FilledColumn(ctypes.Structure):
    """`struct filled_column`."""

    _fields_ = (
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("validity", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
    )


class _MessageColumns(ctypes.Structure):
    """`struct message_columns`."""

    _fields_ = (
        ("rows", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("timestamps", ctypes.c_void_p),
        ("keys", _FilledColumn),
        ("values", _FilledColumn),
        ("headers", _FilledColumn),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEvent:
    """An error that came in place of a record, or the end of a partition, which is one to the client."""

    topic: str | None
    partition: int
    offset: int
    code: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRecords:
    """The content of a queue: `taken` records and events; records by their partitions, each in order, then events."""

    taken: int
    records: Sequence[tuple[Place, MessageColumns]] = ()
    events: Sequence[QueueEvent] = ()


class QueueReader:
    """Reads one queue of librdkafka. Used by one thread."""

    def __init__(self, native: ctypes.CDLL, kafka: ReadingFunctions, queue: int) -> None:
        """Take the native library, the functions of librdkafka, and a queue, which stays its owner's."""
        self._native = native
        native.streamapp_take_messages.restype = ctypes.c_int64
        native.streamapp_release_messages.restype = None
        self._kafka = kafka
        self._queue = ctypes.c_void_p(queue)
        self._taken = (_TakenEvent * MOST)()
        self._runs = (_MessageRun * MOST)()

    def take(self, most: int, milliseconds: int) -> TakenRecords:
        """Take up to `most` records and events, `MOST` at most; wait for the first one for this time.

        Raises:
            MemoryError: there is no memory for them; they are lost to this queue.
        """
        count = ctypes.c_int64()
        taken = self._native.streamapp_take_messages(
            ctypes.byref(self._kafka),
            self._queue,
            ctypes.c_int(milliseconds),
            self._taken,
            ctypes.c_int64(min(most, MOST)),
            self._runs,
            ctypes.byref(count),
        )
        if not taken:
            return TakenRecords(taken=0)
        try:
            return self._copied(taken, self._runs[: count.value])
        finally:
            self._native.streamapp_release_messages(ctypes.byref(self._kafka), self._taken, ctypes.c_int64(taken))

    def _copied(self, taken: int, runs: Sequence[_MessageRun]) -> TakenRecords:
        places: dict[tuple[bytes | None, int], list[_MessageRun]] = {}
        events = []
        for run in runs:
            if run.error:
                events.append(_event(run))
            else:
                places.setdefault((run.topic, run.partition), []).append(run)
        records = [
            (((topic or b"").decode(), partition), self._columns(part))
            for (topic, partition), found in places.items()
            for part in _parts(found)
        ]
        return TakenRecords(taken=taken, records=records, events=events)

    def _columns(self, runs: Sequence[_MessageRun]) -> MessageColumns:
        """Return the messages of a partition's runs as columns."""
        totals = {name: sum(getattr(run, name) for run in runs) for name in _TOTALS}
        rows = totals["count"]
        offsets, timestamps = np.empty(rows, np.int64), np.empty(rows, np.int64)
        keys = _Filled(rows, totals["key_bytes"], totals["null_keys"])
        values = _Filled(rows, totals["value_bytes"], totals["null_values"])
        headers = _Filled(rows, totals["header_bytes"], 0) if totals["header_bytes"] else None
        into = _MessageColumns(
            rows,
            offsets.ctypes.data,
            timestamps.ctypes.data,
            keys.structure,
            values.structure,
            _FilledColumn() if headers is None else headers.structure,
        )
        row = 0
        for run in runs:
            error = self._native.streamapp_copy_messages(
                ctypes.byref(self._kafka),
                ctypes.byref(self._taken, run.first * ctypes.sizeof(_TakenEvent)),
                ctypes.c_int64(run.count),
                ctypes.byref(into),
                ctypes.c_int64(row),
            )
            assert not error, "messages do not change between two looks at them"
            row += run.count
        return MessageColumns(
            offset_column=offsets,
            timestamp_column=timestamps,
            key_column=keys.array(),
            value_column=values.array(),
            header_column=None if headers is None else headers.array(),
        )


_TOTALS = ("count", "key_bytes", "value_bytes", "header_bytes", "null_keys", "null_values")


class _Filled:
    """The buffers of a column that is filled."""

    def __init__(self, rows: int, size: int, nulls: int) -> None:
        self._nulls = nulls
        self._offsets = np.empty(rows + 1, np.int32)
        self._offsets[0] = 0
        self._data = np.empty(size, np.uint8)
        self._validity = np.zeros(-(-rows // 8), np.uint8) if nulls else None
        self.structure = _FilledColumn(
            self._offsets.ctypes.data,
            self._data.ctypes.data,
            None if self._validity is None else self._validity.ctypes.data,
            size,
        )

    def array(self) -> pa.BinaryArray:
        """Return the column; its buffers are not copied."""
        validity = None if self._validity is None else pa.py_buffer(self._validity)
        buffers = [validity, pa.py_buffer(self._offsets), pa.py_buffer(self._data)]
        return pa.BinaryArray.from_buffers(pa.binary(), len(self._offsets) - 1, buffers, self._nulls)


def _parts(runs: Sequence[_MessageRun]) -> Sequence[Sequence[_MessageRun]]:
    """Divide the runs of a partition so that each part fits into columns."""
    parts: list[list[_MessageRun]] = []
    sizes = np.zeros(3, np.int64)
    for run in runs:
        more = np.array([run.key_bytes, run.value_bytes, run.header_bytes], np.int64)
        sizes += more
        if not parts or (sizes > _LARGEST).any():
            parts.append([])
            sizes = more
        parts[-1].append(run)
    return parts


def _event(run: _MessageRun) -> QueueEvent:
    return QueueEvent(
        topic=None if run.topic is None else run.topic.decode(),
        partition=run.partition,
        offset=run.offset,
        code=run.error,
        reason=(run.reason or b"").decode(errors="replace"),
    )
