"""Rows as keys and values of state: MessagePack of the columns' values, in the schema's order.

Equal values have equal bytes, in whatever batch they were, so encoded columns serve as keys.
"""

import hashlib
import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_systems.floating_keys import unify_floats

MAXIMUM_KEY = 480
"""LMDB allows 511 bytes; some are left for prefixes of stores."""
DIGEST_BYTES = 16
FIRST_KEY = b"\x80"
"""No encoded key is before it: they are arrays of MessagePack. Entries of other kinds begin with letters."""

_NAN = math.nan
"""Found in dictionaries, as it is the same object: no other is equal to it."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


def encode_row(values: Sequence[object]) -> bytes:
    """Encode the plain values of one row."""
    return _encode(values)


def decode_row(data: bytes) -> list[Any]:
    """Decode the values of `encode_row`."""
    return _decode(data)


def encode_key(values: Sequence[object]) -> bytes:
    """Encode the plain values of a key so that they fit a store: a long key is cut and ends in its digest."""
    key = _encode(values)
    if len(key) <= MAXIMUM_KEY:
        return key
    end = hashlib.blake2b(key, digest_size=32).digest()
    return key[: MAXIMUM_KEY - len(end)] + end


def decode_key(data: bytes) -> list[Any] | None:
    """Decode the values of `encode_key`; None if the key was cut."""
    if len(data) < MAXIMUM_KEY:
        return _decode(data)
    try:
        values = _decode(data)
    except msgspec.DecodeError:
        return None
    return values if _encode(values) == data else None


def digest(values: Sequence[object]) -> bytes:
    """Return `DIGEST_BYTES` for the plain values of a key, where names in a store are to be of one length."""
    return hashlib.blake2b(encode_key(values), digest_size=DIGEST_BYTES).digest()


def to_plain_rows(columns: Iterable[pa.ChunkedArray], exact: Container[int] = ()) -> list[tuple[Any, ...]]:
    """Turn columns into rows of values that MessagePack has: numbers, texts, bytes, booleans and nulls.

    A list becomes a list of such values, a structure a tuple of them, a map a list of tuples of key and value. Floating
    numbers become what they are as keys, but in the columns at the places `exact`.
    """
    return list(zip(*(_plain(column, place not in exact) for place, column in enumerate(columns)), strict=True))


def to_arrow_table(rows: Sequence[Sequence[object]], schema: pa.Schema) -> pa.Table:
    """Turn plain rows back into a table; the inverse of `to_plain_rows`."""
    values = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.Table.from_arrays(
        [_typed(list(column), field.type) for column, field in zip(values, schema, strict=True)], schema=schema
    )


def unify_float(value: object) -> object:
    """Return the value, or of not-a-number and of zero always the same object or bits, as `unify_floats` does."""
    if not isinstance(value, float):
        return value
    return _NAN if math.isnan(value) else value + 0.0


def _plain(column: pa.ChunkedArray, unified: bool = True) -> list[Any]:
    kind = column.type
    if pa.types.is_nested(kind):
        return _plain_nested(column, unified)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    if unified:
        column = unify_floats(column)
    values: list[Any] = column.to_pylist()
    return values


def _plain_nested(column: pa.ChunkedArray, unified: bool) -> list[Any]:
    """Return lists, maps (as lists of keys and values) and structures as plain values."""
    array = column.combine_chunks()
    if pa.types.is_struct(array.type):
        parts = (_plain(pa.chunked_array([part]), unified) for part in array.flatten())
        values: list[Any] = list(zip(*parts, strict=True))
    else:
        if pa.types.is_map(array.type):
            array = array.cast(pa.list_(_entry(array.type)))
        items = _plain(pa.chunked_array([array.flatten()]), unified)
        ends = np.cumsum(pc.fill_null(array.value_lengths(), 0)).tolist()
        values = [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    valid = array.is_valid().to_pylist()
    return [value if present else None for value, present in zip(values, valid, strict=True)]


def _entry(kind: pa.DataType) -> pa.DataType:
    return pa.struct([("key", kind.key_type), ("value", kind.item_type)])


def _typed(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_nested(kind):
        return _typed_nested(values, kind)
    return pa.array(values, kind)


def _typed_nested(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the inverse of `_plain_nested`."""
    missing = pa.array([value is None for value in values], pa.bool_())
    if pa.types.is_struct(kind):
        nothing = (None,) * kind.num_fields
        parts = zip(*(nothing if value is None else value for value in values), strict=True) if values else ()
        columns = list(map(list, parts)) or [[] for _ in kind.fields]
        children = [_typed(column, field.type) for column, field in zip(columns, kind.fields, strict=True)]
        return pa.StructArray.from_arrays(children, fields=kind.fields, mask=missing)
    ends = np.cumsum([0, *(0 if value is None else len(value) for value in values)], dtype=np.int64)
    starts, items = pa.array(ends, pa.int32()), [item for value in values if value is not None for item in value]
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(starts, _typed(items, kind.value_type), type=kind, mask=missing)
    keys, held = _typed([key for key, _ in items], kind.key_type), _typed([item for _, item in items], kind.item_type)
    return pa.MapArray.from_arrays(starts, keys, held, type=kind, mask=missing)
