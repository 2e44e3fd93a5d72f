"""The aggregates of frames: of each row and some rows of its group that come before it.

The rows of all frames are grouped by the number of their frame, so that an aggregate means what it means in a group.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_core.schema import EVENT_TIME_COLUMN, RESERVED_PREFIX
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator
from streamapp_runtime.operators.sorted_run import RowIndices, indices_of_ranges
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_type

_FRAME = pa.field(f"{RESERVED_PREFIX}frame", pa.int64())
_ROWS_AT_ONCE = 200_000


class FrameResults:
    """Computes the select list of an `over` for frames of rows."""

    def __init__(self, engine: SqlEngine, aggregation: Aggregation) -> None:
        """Take what is computed of each frame."""
        self._partials = PartialAggregator(engine, aggregation, [_FRAME.name])
        self._results = AggregateResults(engine, aggregation, [_FRAME])
        self._frame = len(aggregation.by_columns)
        self._fields = [pa.field(column.name, arrow_type(column.type)) for column in aggregation.columns]

    def compute(self, rows: pa.Table, first: RowIndices, end: RowIndices) -> pa.Table:
        """Return the columns of the select list: a value for each frame, which are the rows [first, end).

        Rows are in their order, and no frame is empty. What goes by time goes by this order.
        """
        time = rows.schema.get_field_index(EVENT_TIME_COLUMN)
        ordered = rows.set_column(time, EVENT_TIME_FIELD, pa.array(np.arange(len(rows)), EVENT_TIME_FIELD.type))
        parts = [self._part(ordered, first[part], end[part]) for part in _parts(end - first)]
        return pa.concat_tables(parts)

    def nothing(self, count: int) -> pa.Table:
        """Return such columns for rows without frames: null."""
        return pa.table([pa.nulls(count, field.type) for field in self._fields], pa.schema(self._fields))

    def _part(self, rows: pa.Table, first: RowIndices, end: RowIndices) -> pa.Table:
        frames, places = indices_of_ranges(first, end)
        taken = rows.take(pa.array(places)).append_column(_FRAME, pa.array(frames))
        partials = sorted(self._partials.aggregate(taken), key=lambda partial: partial[self._frame])
        merged = self._partials.merge_all([None] * len(partials), partials)
        built = self._results.build([[*row, None] for row in merged])
        assert built is not None
        return built.select([field.name for field in self._fields])


def add_results(rows: pa.Table, results: pa.Table) -> pa.Table:
    """Return rows with their results behind their columns, before the event time."""
    place = rows.schema.get_field_index(EVENT_TIME_COLUMN)
    columns = zip(results.schema, results.columns, strict=True)
    for number, (field, column) in enumerate(columns):
        rows = rows.add_column(place + number, field, column)
    return rows


def _parts(counts: RowIndices) -> Iterator[slice]:
    """Return slices of frames that have about `_ROWS_AT_ONCE` rows together."""
    parts = np.cumsum(counts) // _ROWS_AT_ONCE
    bounds = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(counts)]
    return (slice(start, end) for start, end in pairwise(bounds))
