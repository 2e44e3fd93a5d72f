"""The hidden event time of every row (docs/concepts.md): set at the source, carried by every operator."""

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.schema import EVENT_TIME_COLUMN

EVENT_TIME_FIELD = pa.field(EVENT_TIME_COLUMN, pa.int64())
_MICROSECONDS = 1_000


def add_event_time(rows: pa.Table, columns: Sequence[str], timestamps: npt.NDArray[np.int64] | None = None) -> pa.Table:
    """Add the hidden event time: of these columns or fields of structs the first that is not null.

    They hold timestamps or milliseconds. Without columns the records' own times count, without either there is none.
    """
    if columns:
        times = reduce(pc.coalesce, (_milliseconds(_values(rows, path)) for path in columns))
    else:
        times = pa.nulls(len(rows), pa.int64()) if timestamps is None else pa.array(timestamps, pa.int64())
    return rows.append_column(EVENT_TIME_FIELD, times)


def latest_event_time(rows: pa.Table) -> int | None:
    """Return the highest event time of the rows, None if none has one."""
    time: int | None = pc.max(rows.column(EVENT_TIME_COLUMN)).as_py()
    return time


def event_times(rows: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the event times of the rows, and which of them are missing (their time is 0)."""
    return _numbers(rows.column(EVENT_TIME_COLUMN).combine_chunks())


def without_event_time(rows: pa.Table) -> pa.Table:
    """Drop the hidden column: outputs don't have it."""
    return rows.drop_columns([EVENT_TIME_COLUMN])


def _values(rows: pa.Table, path: str) -> pa.ChunkedArray:
    """Return the values of a column, or of a field of structs by the path to it, whatever the case of the names."""
    column = _place(path, rows.schema)
    if column is not None:
        return rows.column(column)
    first, *names = path.split(".")
    values = rows.column(_place(first, rows.schema))
    for name in names:
        values = pc.struct_field(values, _place(name, values.type))
    return values


def _place(name: str, fields: Iterable[pa.Field]) -> int | None:
    return next((place for place, field in enumerate(fields) if field.name.lower() == name.lower()), None)


def _milliseconds(timestamps: pa.ChunkedArray) -> pa.Array:
    """Round microseconds down to milliseconds, before 1970 too; whole numbers are milliseconds already."""
    times = timestamps.combine_chunks()
    if not pa.types.is_timestamp(times.type):
        return times.cast(pa.int64())
    numbers, missing = _numbers(times.view(pa.int64()))
    return pa.array(np.floor_divide(numbers, _MICROSECONDS), mask=missing)


def _numbers(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    if not array.null_count:
        return array.to_numpy(), np.zeros(len(array), np.bool_)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return pc.fill_null(array, 0).to_numpy(), missing
