"""The hidden event time of every row (design 3): set at the source, carried by every operator."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.schema import EVENT_TIME_COLUMN

EVENT_TIME_FIELD = pa.field(EVENT_TIME_COLUMN, pa.int64())
_MICROSECONDS = 1_000


def stamp(rows: pa.Table, column: str | None, timestamp: int | None = None) -> pa.Table:
    """Add the hidden event time: a timestamp column of the rows, else one time (milliseconds) for all, else none."""
    if column is None:
        times = pa.array(np.full(len(rows), timestamp or 0, np.int64), mask=np.full(len(rows), timestamp is None))
    else:
        times = _milliseconds(rows.column(column))
    return rows.append_column(EVENT_TIME_FIELD, times)


def latest(rows: pa.Table) -> int | None:
    """Tell the highest event time of the rows, None if none has one."""
    return pc.max(rows.column(EVENT_TIME_COLUMN)).as_py()


def without_event_time(rows: pa.Table) -> pa.Table:
    """Drop the hidden column: what leaves the app does not have it."""
    return rows.drop_columns([EVENT_TIME_COLUMN])


def _milliseconds(timestamps: pa.ChunkedArray) -> pa.Array:
    """Round microseconds down to milliseconds, before 1970 too."""
    array = timestamps.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    microseconds = pc.fill_null(array.cast(pa.int64()), 0).to_numpy()
    return pa.array(np.floor_divide(microseconds, _MICROSECONDS), mask=missing)
