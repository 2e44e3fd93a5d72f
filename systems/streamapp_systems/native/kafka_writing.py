"""Hands columns of records to the library behind Python's Kafka client (`kafka_writing.c`)."""

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Producer

from streamapp_systems.clock import time_of_day
from streamapp_systems.native.library import native_library
from streamapp_systems.native.librdkafka import handle_of, librdkafka


class LibrdkafkaFunctions(ctypes.Structure):
    """`struct librdkafka`: addresses of functions."""

    _fields_ = (("producev", ctypes.c_void_p), ("topic_new", ctypes.c_void_p), ("topic_destroy", ctypes.c_void_p))


class _BinaryColumn(ctypes.Structure):
    """`struct binary_column`."""

    _fields_ = (
        ("validity", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("first", ctypes.c_int64),
        ("size", ctypes.c_int64),
    )


def produce_records(
    producer: Producer,
    topic: str,
    partition: int,
    *,
    keys: pa.BinaryArray,
    values: pa.BinaryArray,
    timestamps: npt.NDArray[np.int64] | None,
) -> int:
    """Hand records to a producer and return how many of them it took: the first ones, perhaps none.

    Of the next one the producer itself says what is wrong with it; where there is no native library, nothing is. No
    delivery is reported. Times before 1970 are written as 1; without `timestamps` records have the time of day.

    Raises:
        ValueError: keys or values are malformed.
    """
    handle = handle_of(producer)
    if handle is None or native_library().functions is None:
        return 0
    times = time_of_day() if timestamps is None else timestamps
    return produce_with(_functions(), handle, topic, partition, keys=keys, values=values, timestamps=times)


def produce_with(
    kafka: LibrdkafkaFunctions,
    handle: int,
    topic: str,
    partition: int,
    *,
    keys: pa.BinaryArray,
    values: pa.BinaryArray,
    timestamps: npt.NDArray[np.int64] | int,
) -> int:
    """Do what `produce_records` does with these functions of librdkafka; the native library is there.

    One timestamp is that of all records.
    """
    now, times = (timestamps, None) if isinstance(timestamps, int) else (0, np.ascontiguousarray(timestamps, np.int64))
    assert len(keys) == len(values)
    assert times is None or len(times) == len(values)
    taken: int = _produce()(
        ctypes.byref(kafka),
        ctypes.c_void_p(handle),
        topic.encode(),
        ctypes.c_int32(partition),
        ctypes.byref(_column(keys)),
        ctypes.byref(_column(values)),
        ctypes.c_void_p(None if times is None else times.ctypes.data),
        ctypes.c_int64(now),
        ctypes.c_int64(len(values)),
    )
    if taken < 0:
        raise ValueError("a column of records is malformed: the offsets of a value are outside of its data")
    return taken


@cache
def _produce() -> Callable[..., int]:
    native = native_library().functions
    assert native is not None
    native.streamapp_produce.restype = ctypes.c_int64
    produce: Callable[..., int] = native.streamapp_produce
    return produce


@cache
def _functions() -> LibrdkafkaFunctions:
    library = librdkafka()
    assert library is not None
    names = ("producev", "topic_new", "topic_destroy")
    return LibrdkafkaFunctions(
        *(ctypes.cast(getattr(library, f"rd_kafka_{name}"), ctypes.c_void_p).value for name in names)
    )


def _column(values: pa.BinaryArray) -> _BinaryColumn:
    """Return where a column is; it must live for as long as this is used."""
    validity, offsets, data = values.buffers()
    return _BinaryColumn(
        None if validity is None or not values.null_count else validity.address,
        offsets.address,
        None if data is None else data.address,
        values.offset,
        0 if data is None else data.size,
    )
