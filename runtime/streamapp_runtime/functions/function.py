"""The contract of a `process` function (`docs/functions.md`): what it is given, and what it must give back."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.functions.failures import RAISED, FunctionFailed, described
from streamapp_runtime.rows.event_time import EVENT_TIME_FIELD


class Function:
    """A user's function over batches of rows. Batches and results carry the hidden event time as their last column."""

    def __init__(self, name: str, function: Callable[[pa.Table], object], columns: pa.Schema) -> None:
        """Take the columns the result must have."""
        self._name = name
        self._function = function
        self._columns = columns

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with a batch of rows; None: it gave none back.

        Raises:
            FunctionFailed: it raised something, or gave back something else than rows of its columns.
        """
        try:
            result = self._function(rows)
        except RAISED as error:
            raise FunctionFailed(f"function {self._name}: {described(error, called_from=1)}") from error
        try:
            return self._checked(result, rows)
        except FunctionFailed as failure:
            raise FunctionFailed(f"function {self._name} {failure}") from None

    def _checked(self, result: object, rows: pa.Table) -> pa.Table | None:
        if result is None:
            return None
        if isinstance(result, pa.RecordBatch):
            result = pa.Table.from_batches([result])
        if not isinstance(result, pa.Table):
            raise FunctionFailed(f"gives back a {type(result).__name__}, not a pyarrow Table or RecordBatch, or None")
        self._check_names(result)
        if not len(result):
            return None
        columns = [_cast(result.column(field.name), field) for field in self._columns]
        return pa.Table.from_arrays(
            [*columns, _event_times(result, rows)], schema=self._columns.append(EVENT_TIME_FIELD)
        )

    def _check_names(self, result: pa.Table) -> None:
        found = [name for name in result.column_names if name != EVENT_TIME_COLUMN]
        if sorted(found) != sorted(self._columns.names):
            raise FunctionFailed(
                f"gives back the columns ({', '.join(found)}), its `schema` has ({', '.join(self._columns.names)})"
            )


def _event_times(result: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
    """Tell when the rows of a result happened: they say so, or they are the batch's, one by one or all of one time.

    There is no other case. A time for all that is made of the times of a batch would depend on the batch: which rows
    come together is chance, so the same rows would fall into other windows after a restart.
    """
    if EVENT_TIME_COLUMN in result.column_names:
        return _own_times(result.column(EVENT_TIME_COLUMN))
    times = rows.column(EVENT_TIME_COLUMN)
    if len(result) == len(rows):
        return times
    if pc.count_distinct(times, mode="all").as_py() == 1:
        return pa.chunked_array([pa.repeat(times[0], len(result))])
    raise FunctionFailed(
        f"gives back {len(result)} rows for {len(rows)} without their event times: keep the column "
        f"{EVENT_TIME_COLUMN} of the rows they are made of (filter and take do), or give back a row for each"
    )


def _own_times(times: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_integer(times.type) or pa.types.is_null(times.type)):
        raise FunctionFailed(f"gives back {EVENT_TIME_COLUMN} as {times.type}, not as milliseconds (int64)")
    return _cast(times, EVENT_TIME_FIELD)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    if _family(column.type) not in (_family(field.type), "null"):
        raise FunctionFailed(f"gives back column {field.name} as {column.type}, its `schema` says {field.type}")
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise FunctionFailed(f"gives back column {field.name} as {column.type}: {error}") from None


def _family(kind: pa.DataType) -> str:
    """Tell types apart between which no cast is safe: whole numbers, say, are not moments until a unit is given."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return next((name for name, members in _FAMILIES.items() if any(is_(kind) for is_ in members)), str(kind))


_FAMILIES: dict[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "bytes": (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    "date": (pa.types.is_date,),
    "timestamp": (pa.types.is_timestamp,),
}
