"""The rows that a join emits: columns of both sides, the right key left out, and the later of both event times."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.expressions import Condition, truth_sql
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.record_keys import joined_keys
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.sql_engine import SqlEngine

LEFT, RIGHT = 0, 1
"""The sides of a join, as indices."""


class JoinedRows:
    """Builds the rows of one join."""

    def __init__(self, keys: tuple[Sequence[str], Sequence[str]], schemas: tuple[pa.Schema, pa.Schema]) -> None:
        """Take for the left and the right side the columns to join on and all columns."""
        self._keys = keys
        self._schemas = schemas
        self._right_columns = [name for name in schemas[RIGHT].names if name not in keys[RIGHT]]
        fields = [*schemas[LEFT], *(schemas[RIGHT].field(name) for name in self._right_columns)]
        self._output = pa.schema([*fields, EVENT_TIME_FIELD])

    def pair(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """Return one row for each pair of a left and a right row."""
        time = pc.max_element_wise(left.column(EVENT_TIME_COLUMN), right.column(EVENT_TIME_COLUMN))
        columns = [left.column(name) for name in self._schemas[LEFT].names]
        columns += [right.column(name) for name in self._right_columns]
        return pa.Table.from_arrays([*columns, time], schema=self._output)

    def left_alone(self, rows: pa.Table) -> pa.Table:
        """Return left rows without a partner."""
        columns = [rows.column(name) for name in self._schemas[LEFT].names]
        columns += [pa.nulls(len(rows), self._schemas[RIGHT].field(name).type) for name in self._right_columns]
        return pa.Table.from_arrays([*columns, rows.column(EVENT_TIME_COLUMN)], schema=self._output)

    def right_alone(self, rows: pa.Table) -> pa.Table:
        """Return right rows without a partner, with their key in the left key columns: the right ones are left out."""
        of_left = dict(zip(*self._keys, strict=True))
        columns = [
            rows.column(of_left[field.name]).cast(field.type)
            if field.name in of_left
            else pa.nulls(len(rows), field.type)
            for field in self._schemas[LEFT]
        ]
        columns += [rows.column(name) for name in self._right_columns]
        return pa.Table.from_arrays([*columns, rows.column(EVENT_TIME_COLUMN)], schema=self._output)


class PairCondition:
    """A condition that two rows with equal keys have to meet so that they are a pair."""

    def __init__(self, engine: SqlEngine, condition: Condition) -> None:
        self._engine = engine
        self._sql = truth_sql(condition, "rows")

    def is_met(self, pairs: pa.Table) -> npt.NDArray[np.bool_]:
        """Return for each of the rows that pairs would make whether they are one."""
        met: npt.NDArray[np.bool_] = self._engine.query(self._sql, rows=pairs).column(0).to_numpy()
        return met


def stored_sides(
    keys: tuple[Sequence[str], Sequence[str]], sides: Sequence[Iterator[pa.Table]]
) -> Iterator[StoredRows]:
    """Return the rows that a join holds of its left and its right side; `keys` are the columns to join on."""
    for kind, key, tables in zip(("left rows", "right rows"), keys, sides, strict=True):
        for rows in tables:
            yield StoredRows(kind=kind, key=tuple(key), rows=rows)


def join_keys(rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """Return the key of each row by the columns to join on; null where one of them is."""
    return joined_keys([rows.column(name) for name in columns])


def equal_keys(left: pa.ChunkedArray, right: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Compare keys pair by pair; null equals nothing, NaN equals NaN (as in Spark)."""
    equal = pc.equal(left, right)
    if pa.types.is_floating(left.type) and pa.types.is_floating(right.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    mask: npt.NDArray[np.bool_] = pc.fill_null(equal, fill_value=False).to_numpy()
    return mask
