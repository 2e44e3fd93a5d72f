"""The contract of a table's `extractor` (docs/functions.md): from messages to keys and values."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.functions.returned_tables import call_function, cast_column, check_table
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.tombstones import DELETED_COLUMN, DELETED_FIELD

KEY_COLUMN = "__key"
"""The column of a result with the keys under which its rows are stored; a row without one is skipped."""


class Extractor:
    """A user's function from the rows of side inputs to the rows of a table and their keys."""

    def __init__(self, name: str, function: Callable[[pa.Table], object], key: pa.DataType, columns: pa.Schema) -> None:
        """Take the type of the key and the table's columns."""
        self._name = name
        self._function = function
        self._expected = pa.schema([pa.field(KEY_COLUMN, key), *columns])
        self.schema = self._expected.append(DELETED_FIELD)
        """The schema of a result: the key, the table's columns, and which rows delete."""

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with a batch of rows; None: it returned none.

        Raises:
            UserFunctionFailed: it raised something, or returned something else.
        """
        if DELETED_COLUMN not in rows.column_names:
            rows = rows.append_column(DELETED_COLUMN, _none_of(len(rows)))
        result = call_function(f"extractor {self._name}", self._function, rows)
        try:
            return self._checked(result, rows)
        except UserFunctionFailed as failure:
            raise UserFunctionFailed(f"extractor {self._name} {failure}") from None

    def _checked(self, result: object, rows: pa.Table) -> pa.Table | None:
        hidden = {EVENT_TIME_COLUMN, DELETED_COLUMN}
        returned = check_table(result, self._expected.names, hidden, whose="not the key and those of its `schema`")
        if returned is None:
            return None
        columns = [cast_column(returned.column(field.name), field) for field in self._expected]
        return pa.Table.from_arrays([*columns, _deleted(returned, rows)], schema=self.schema)


def _deleted(returned: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
    """Return which rows of a result delete: as its column says, or as the batch's rows one by one, or none."""
    if DELETED_COLUMN in returned.column_names:
        return cast_column(returned.column(DELETED_COLUMN), DELETED_FIELD)
    deleted = rows.column(DELETED_COLUMN)
    if len(returned) == len(rows):
        return deleted
    if not pc.any(deleted).as_py():
        return _none_of(len(returned))
    raise UserFunctionFailed(
        f"returns {len(returned)} rows for {len(rows)} of which some delete: keep the column {DELETED_COLUMN} of the "
        "rows they are made of (filter and take do), or return a row for each"
    )


def _none_of(rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(pa.scalar(value=False), rows)])
