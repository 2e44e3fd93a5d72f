"""The layout of a stream's JSON objects: the names of their fields, and timestamps as numbers since 1970.

Objects are read with a schema of their own, whose fields have other names and numbers instead of timestamps. The keys
of maps stay text.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import JsonOptions, JsonTimestamps

_UNITS = {JsonTimestamps.SECONDS: "s", JsonTimestamps.MILLIS: "ms", JsonTimestamps.MICROS: "us"}
_MICROSECONDS = {JsonTimestamps.SECONDS: 1_000_000, JsonTimestamps.MILLIS: 1_000, JsonTimestamps.MICROS: 1}
_FIRST, _END = -62_135_596_800_000_000, 253_402_300_800_000_000
"""Microseconds: the years 1 to 9999 that Spark's timestamps have."""


def object_schema(rows: pa.Schema, options: JsonOptions) -> pa.Schema:
    """Return the schema that the objects of rows are read with."""
    return pa.schema([(options.field_of(field.name), _read_type(field.type, options.timestamps)) for field in rows])


def to_row_columns(columns: Sequence[pa.Array], rows: pa.Schema, timestamps: JsonTimestamps) -> list[pa.Array]:
    """Return the columns of objects as those of rows, with timestamps made of numbers.

    Raises:
        ValueError: a number is no timestamp of the years 1 to 9999; `pa.ArrowInvalid` is one.
    """
    return [
        column if column.type == field.type else _to_timestamps(column, field.type, timestamps)
        for column, field in zip(columns, rows, strict=True)
    ]


def to_epoch(column: pa.Array, timestamps: JsonTimestamps) -> pa.Array:
    """Return timestamps as whole numbers since 1970, rounded down; other columns, and those written as text, as is."""
    if timestamps is JsonTimestamps.TEXT or not _has_zone(column.type):
        return column
    micros = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.floor_divide(micros, _MICROSECONDS[timestamps]), pa.int64(), mask=missing)


def _read_type(kind: pa.DataType, timestamps: JsonTimestamps) -> pa.DataType:
    return kind if timestamps is JsonTimestamps.TEXT else _with_timestamps_as(pa.int64(), kind)


def _with_timestamps_as(other: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """Return a type with another one in place of timestamps, on every level."""
    if _has_zone(kind):
        return other
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with_timestamps_as(other, field.type)) for field in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(_with_timestamps_as(other, kind.value_type))
    return pa.map_(kind.key_type, _with_timestamps_as(other, kind.item_type)) if pa.types.is_map(kind) else kind


def _to_timestamps(column: pa.Array, to: pa.DataType, timestamps: JsonTimestamps) -> pa.Array:
    converted = column.cast(_with_timestamps_as(pa.timestamp(_UNITS[timestamps], tz="UTC"), to)).cast(to)
    for times in _timestamps(converted):
        found = pc.min_max(times.cast(pa.int64())).as_py()
        if found["min"] is not None and not _FIRST <= found["min"] <= found["max"] < _END:
            raise ValueError("a timestamp is not of the years 1 to 9999")
    return converted


def _timestamps(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the columns of timestamps that a column holds, but for the keys of maps."""
    if _has_zone(column.type):
        yield column
    elif pa.types.is_struct(column.type):
        for part in column.flatten():
            yield from _timestamps(part)
    elif pa.types.is_list(column.type):
        yield from _timestamps(column.flatten())
    elif pa.types.is_map(column.type):
        yield from _timestamps(column.items)


def _has_zone(kind: pa.DataType) -> bool:
    """Return whether a type is Spark's timestamp; those without a time zone are no moments."""
    return pa.types.is_timestamp(kind) and kind.tz is not None
