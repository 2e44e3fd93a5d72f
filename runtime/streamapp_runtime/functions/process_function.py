"""The contract of a `process` function (docs/functions.md): its arguments and its results."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.functions.returned_tables import call_function, cast_column, check_table
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD

UserFunction = Callable[..., object]
"""A user's function, or a class with a method `process` for functions with state."""


class ProcessFunction:
    """A user's function over batches of rows. Batches and results carry the hidden event time as their last column."""

    def __init__(self, name: str, function: Callable[[pa.Table], object], columns: pa.Schema) -> None:
        """Take the columns the result must have."""
        self._name = name
        self._function = function
        self._columns = columns

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with a batch of rows; None: it returned none.

        Raises:
            UserFunctionFailed: it raised something, or returned something else than rows of its columns.
        """
        result = call_function(f"function {self._name}", self._function, rows)
        try:
            return self._checked(result, rows)
        except UserFunctionFailed as failure:
            raise UserFunctionFailed(f"function {self._name} {failure}") from None

    def _checked(self, result: object, rows: pa.Table) -> pa.Table | None:
        returned = check_table(result, self._columns.names, {EVENT_TIME_COLUMN}, whose="its `schema` has")
        if returned is None:
            return None
        columns = [cast_column(returned.column(field.name), field) for field in self._columns]
        return pa.Table.from_arrays(
            [*columns, _event_times(returned, rows)], schema=self._columns.append(EVENT_TIME_FIELD)
        )


def _event_times(result: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
    """Return the event times of a result: its own, or the batch's, row by row or all equal.

    There is no other case. One time for all rows, computed from those of a batch, would depend on the batch: which rows
    form a batch is chance, so the same rows would fall into other windows after a restart.
    """
    if EVENT_TIME_COLUMN in result.column_names:
        return _own_times(result.column(EVENT_TIME_COLUMN))
    times = rows.column(EVENT_TIME_COLUMN)
    if len(result) == len(rows):
        return times
    if pc.count_distinct(times, mode="all").as_py() == 1:
        return pa.chunked_array([pa.repeat(times[0], len(result))])
    raise UserFunctionFailed(
        f"returns {len(result)} rows for {len(rows)} without their event times: keep the column "
        f"{EVENT_TIME_COLUMN} of the rows they are made of (filter and take do), or return a row for each"
    )


def _own_times(times: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_integer(times.type) or pa.types.is_null(times.type)):
        raise UserFunctionFailed(f"returns {EVENT_TIME_COLUMN} as {times.type}, not as milliseconds (int64)")
    return cast_column(times, EVENT_TIME_FIELD)
