"""Rows of plain values as MessagePack, from columns and back: the same bytes as `rows.row_codec` of the runtime has."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.floating_keys import unify_floats
from streamapp_systems.native.binary_columns import address, binary_array, binary_column, pointer


class RowKind(IntEnum):
    """`enum row_kind`: how the values of a column stand in rows."""

    SKIPPED = 0
    BOOLEAN = 1
    INTEGER = 2
    NUMBER = 3
    TEXT = 4
    BYTES = 5
    ENCODED = 6


class _RowColumn(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("skipped", ctypes.c_int64),
        ("validity", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
    )


class _EncodedRows(ctypes.Structure):
    _fields_ = (
        ("columns", ctypes.POINTER(_RowColumn)),
        ("count", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("values", ctypes.c_int64),
        ("prefix", ctypes.c_int64),
        ("prefixes", ctypes.c_void_p),
    )


class _RowValues(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int64), ("present", ctypes.c_void_p), ("values", ctypes.c_void_p))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedValues:
    """The first `count` values of each row, which are encoded: texts without their first `skipped` bytes."""

    texts: pa.BinaryArray
    skipped: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedColumn:
    """A decoded column: whole numbers (booleans as well, int64) or others (double), and which of them are there."""

    values: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_]


@cache
def row_kind(kind: pa.DataType) -> RowKind | None:
    """Return how values of a type stand in rows; None of a type that only Python encodes."""
    for is_kind, found in _KINDS:
        if is_kind(kind):
            return found
    return None


_KINDS = (
    (pa.types.is_boolean, RowKind.BOOLEAN),
    (pa.types.is_signed_integer, RowKind.INTEGER),
    (pa.types.is_timestamp, RowKind.INTEGER),
    (pa.types.is_date32, RowKind.INTEGER),
    (pa.types.is_floating, RowKind.NUMBER),
    (pa.types.is_string, RowKind.TEXT),
    (pa.types.is_binary, RowKind.BYTES),
)
STORED_TYPES = {RowKind.BOOLEAN: pa.bool_(), RowKind.INTEGER: pa.int64(), RowKind.NUMBER: pa.float64()}
"""The types of columns whose values are not copied to be encoded."""


def stored_column(column: pa.Array) -> pa.Array:
    """Return a column in the type that its values have in rows; one that is so already is not copied."""
    kind = row_kind(column.type)
    assert kind is not None, f"{column.type} has no columns in rows"
    wanted = STORED_TYPES.get(kind, column.type)
    if column.type != wanted:
        between = pa.int32() if pa.types.is_date32(column.type) else wanted
        column = column.cast(between).cast(wanted)
    return unify_floats(column)


def encode_rows(
    library: ctypes.CDLL,
    columns: Sequence[pa.Array],
    rows: int,
    *,
    first: EncodedValues | None = None,
    prefixes: npt.NDArray[np.uint8] | None = None,
) -> pa.BinaryArray | None:
    """Return each row of these columns behind values that are encoded, and behind bytes of its own (a row each).

    None if all rows take 2 GB or more.
    """
    kept = [stored_column(column) for column in columns]
    described = [*([] if first is None else [_encoded(first)]), *map(_described, kept)]
    array = (_RowColumn * max(len(described), 1))(*described)
    values = len(columns) + (0 if first is None else first.count)
    prefix, at = (0, None) if prefixes is None else (prefixes.shape[1], pointer(prefixes))
    held = _EncodedRows(array, len(described), rows, values, prefix, at)
    offsets = np.empty(rows + 1, np.int32)
    measure = library.streamapp_measure_rows
    measure.restype = ctypes.c_int64
    total = measure(ctypes.byref(held), ctypes.c_void_p(pointer(offsets)))
    if total < 0:
        return None
    data = np.empty(max(total, 1), np.uint8)
    library.streamapp_encode_rows(ctypes.byref(held), ctypes.c_void_p(pointer(offsets)), ctypes.c_void_p(pointer(data)))
    return binary_array(offsets, data)


def decode_numbers(library: ctypes.CDLL, rows: pa.BinaryArray, kinds: Sequence[RowKind]) -> list[DecodedColumn] | None:
    """Return the columns of rows, none null, that are booleans or numbers of these kinds, without those to skip.

    None if a row has anything else.
    """
    decoded = _decode(library, rows, kinds)
    return None if decoded is None else [column for column, kind in zip(decoded, kinds, strict=True) if kind]


def decode_rows(library: ctypes.CDLL, rows: pa.BinaryArray, schema: pa.Schema) -> pa.Table | None:
    """Return the columns of rows, none null, in the types of a schema; None if a row has anything else."""
    kinds = [row_kind(field.type) for field in schema]
    assert None not in kinds
    decoded = _decode(library, rows, [kind for kind in kinds if kind is not None])
    if decoded is None:
        return None
    columns = [_typed(rows, column, field.type) for column, field in zip(decoded, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _decode(library: ctypes.CDLL, rows: pa.BinaryArray, kinds: Sequence[RowKind]) -> list[DecodedColumn] | None:
    count = len(rows)
    decoded = [_room(kind, count) for kind in kinds]
    described = (_RowValues * max(len(kinds), 1))(
        *(
            _RowValues(kind, pointer(column.present), pointer(column.values))
            for kind, column in zip(kinds, decoded, strict=True)
        )
    )
    decode = library.streamapp_decode_rows
    decode.restype = ctypes.c_int64
    held = binary_column(rows)
    return decoded if decode(ctypes.byref(held), described, ctypes.c_int64(len(kinds))) == count else None


def _room(kind: RowKind, count: int) -> DecodedColumn:
    if kind is RowKind.SKIPPED:
        count = 0
    places = 2 if kind in (RowKind.TEXT, RowKind.BYTES) else 1
    values: npt.NDArray[np.int64] | npt.NDArray[np.float64] = (
        np.empty(count) if kind is RowKind.NUMBER else np.empty(count * places, np.int64)
    )
    return DecodedColumn(values=values, present=np.empty(count, np.bool_))


def _typed(rows: pa.BinaryArray, column: DecodedColumn, kind: pa.DataType) -> pa.Array:
    if row_kind(kind) in (RowKind.TEXT, RowKind.BYTES):
        return _texts(rows, column, kind)
    return typed_column(column, kind)


def typed_column(column: DecodedColumn, kind: pa.DataType) -> pa.Array:
    """Return the booleans or numbers of a column in the type that they had before they were encoded."""
    array = pa.array(column.values, mask=None if column.present.all() else ~column.present)
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    return array if array.type == kind else array.cast(kind)


def _texts(rows: pa.BinaryArray, column: DecodedColumn, kind: pa.DataType) -> pa.Array:
    """Return texts, of which the values are where they begin in the data of the rows and how long they are."""
    begins, lengths = column.values.astype(np.int64, copy=False).reshape(-1, 2).T
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.frombuffer(rows.buffers()[2] or b"", np.uint8)
    places = np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])
    texts = binary_array(offsets.astype(np.int32), data[places], ~column.present)
    return texts.cast(kind)


def _described(column: pa.Array) -> _RowColumn:
    kind, (validity, *values) = row_kind(column.type), column.buffers()
    assert kind is not None
    if kind not in (RowKind.TEXT, RowKind.BYTES):
        return _RowColumn(kind, column.offset, 0, address(validity), address(values[0]), None)
    return _RowColumn(kind, column.offset, 0, address(validity), address(values[1]), address(values[0]))


def _encoded(first: EncodedValues) -> _RowColumn:
    texts = binary_column(first.texts)
    return _RowColumn(RowKind.ENCODED, texts.first, first.skipped, None, texts.data, texts.offsets)
