"""Writes rows as JSON objects in one pass over their columns (`json_encoding.c`)."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
import pyarrow as pa

from streamapp_systems.native.library import native_library

_LONGEST_SCALAR = 32
_MOST_BYTES = 2**31 - 1
_NO_ROOM, _BEYOND_YEARS = -2, -3


class JsonKind(IntEnum):
    """The way that values of a column are written: `enum json_kind`."""

    TEXT = 0
    WRITTEN = 1
    WRITTEN_IN_QUOTES = 2
    BOOLEAN = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    DAYS = 8
    MICROS = 9
    MICROS_IN_UTC = 10


_KINDS = {
    pa.string(): JsonKind.TEXT,
    pa.bool_(): JsonKind.BOOLEAN,
    pa.int8(): JsonKind.INT8,
    pa.int16(): JsonKind.INT16,
    pa.int32(): JsonKind.INT32,
    pa.int64(): JsonKind.INT64,
    pa.date32(): JsonKind.DAYS,
    pa.timestamp("us"): JsonKind.MICROS,
    pa.timestamp("us", "UTC"): JsonKind.MICROS_IN_UTC,
}


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A column of objects: what stands before each value, the values, and how they are written."""

    before: str
    values: pa.Array
    kind: JsonKind


class _Column(ctypes.Structure):
    """`struct json_column`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("name_size", ctypes.c_int64),
        ("kind", ctypes.c_int64),
        ("validity", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("first", ctypes.c_int64),
        ("size", ctypes.c_int64),
    )


def json_kind(values: pa.DataType) -> JsonKind | None:
    """Return how values of a type are written here; None of others, which must be texts of JSON before."""
    return _KINDS.get(values)


def write_objects(members: Sequence[JsonMember]) -> pa.StringArray | None:
    """Return an object for each row, which ends behind its last member; None where this can't be done here.

    So it is without the native library, with times beyond the years 0 to 9999, and with objects of more than 2 GB.

    Raises:
        ValueError: a column is malformed.
    """
    if native_library().functions is None or not members or not all(map(_is_supported, members)):
        return None
    rows = len(members[0].values)
    assert all(len(member.values) == rows for member in members)
    if not rows:
        return pa.array([], pa.string())
    columns = (_Column * len(members))(*map(_column, members))
    offsets = pa.allocate_buffer(4 * (rows + 1))
    capacity = sum(map(_expected_bytes, members)) + 2 * rows + _LONGEST_SCALAR
    while capacity <= _MOST_BYTES:
        data = pa.allocate_buffer(capacity, resizable=True)
        size = _encode()(
            columns,
            ctypes.c_int64(len(members)),
            ctypes.c_int64(rows),
            ctypes.c_void_p(offsets.address),
            ctypes.c_void_p(data.address),
            ctypes.c_int64(capacity),
        )
        if size >= 0:
            data.resize(size)
            return pa.Array.from_buffers(pa.string(), rows, [None, offsets, data])
        if size == _BEYOND_YEARS:
            return None
        if size != _NO_ROOM:
            raise ValueError("a column of rows is malformed: the offsets of a text are outside of its data")
        capacity *= 2
    return None


@cache
def _encode() -> Callable[..., int]:
    native = native_library().functions
    assert native is not None
    native.streamapp_encode_json.restype = ctypes.c_int64
    encode: Callable[..., int] = native.streamapp_encode_json
    return encode


def _is_supported(member: JsonMember) -> bool:
    return member.kind > JsonKind.WRITTEN_IN_QUOTES or bool(member.values.type == pa.string())


def _column(member: JsonMember) -> _Column:
    """Return where a column is; its member must live for as long as this is used."""
    before, values = member.before.encode(), member.values
    validity, content, *more = values.buffers()
    data = more[0] if more else None
    return _Column(
        before,
        len(before),
        member.kind,
        None if validity is None or not values.null_count else validity.address,
        content.address,
        None if data is None else data.address,
        values.offset,
        0 if data is None else data.size,
    )


def _expected_bytes(member: JsonMember) -> int:
    """Return how many bytes the values take, and a little more, if few of them need escapes."""
    values, before = member.values, len(member.before.encode())
    if member.kind > JsonKind.WRITTEN_IN_QUOTES:
        return len(values) * (before + _LONGEST_SCALAR)
    _, bounds, data = values.buffers()
    offsets = np.frombuffer(bounds, np.int32, len(values) + 1, values.offset * 4)
    texts = 0 if data is None else min(max(int(offsets[-1]) - int(offsets[0]), 0), data.size)
    return len(values) * (before + 4) + texts
