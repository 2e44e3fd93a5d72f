"""Partial results of aggregates: made of a batch by SQL, merged per key in plain Python.

A batch is grouped once, vectorised; the merge then costs a few operations per distinct key, not per row.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge, Partial
from streamapp_core.schema import EVENT_TIME_COLUMN, DataType, TypeKind
from streamapp_runtime.rows.codec import plain_rows
from streamapp_runtime.sql.engine import SqlEngine

ROWS = "__rows"
_LARGEST_EVENT_TIME = f'max("{EVENT_TIME_COLUMN}")::BIGINT AS "{EVENT_TIME_COLUMN}"'
_WRAP, _HALF = 1 << 64, 1 << 63


class PartialResults:
    """The partial results of one aggregation: how a batch makes them and how two of one key become one.

    A row of state is the values of the group's columns, the partial results, and the latest event time.
    """

    def __init__(self, engine: SqlEngine, aggregation: Aggregation, group: Sequence[str]) -> None:
        """Group by SQL expressions `group`: the columns of `by`, and what else makes the key (a window's start)."""
        self._engine = engine
        self._group = len(group)
        self._mergers = [_merger(partial) for partial in aggregation.partials]
        partials = [f'{partial.sql} AS "{partial.name}"' for partial in aggregation.partials]
        columns = ", ".join([*group, *partials, _LARGEST_EVENT_TIME, f'count(*)::BIGINT AS "{ROWS}"'])
        positions = ", ".join(str(position + 1) for position in range(len(group)))
        self._sql = f"SELECT {columns} FROM rows WHERE {{condition}}" + (f" GROUP BY {positions}" if group else "")

    def of_batch(self, rows: pa.Table, condition: str = "true") -> tuple[list[tuple[Any, ...]], int]:
        """Group the rows that meet a condition: the rows of partial state, and how many rows went into them."""
        result = self._engine.query(self._sql.format(condition=condition), rows=rows)
        grouped = plain_rows(result.columns[:-1])
        counts = result.column(ROWS).to_pylist()
        if not self._group and counts == [0]:
            return [], 0
        return grouped, sum(counts)

    def merge(self, state: list[Any] | None, partial: Sequence[Any]) -> list[Any]:
        """Add the partial results of a batch to the state of their key, in place."""
        if state is None:
            return list(partial)
        for at, merge in enumerate(self._mergers, self._group):
            if partial[at] is not None:
                state[at] = partial[at] if state[at] is None else merge(state[at], partial[at])
        if partial[-1] is not None:
            state[-1] = partial[-1] if state[-1] is None else max(state[-1], partial[-1])
        return state


def _merger(partial: Partial) -> Callable[[Any, Any], Any]:
    if partial.merge is Merge.SUM:
        return _sum_of(partial.type)
    choose = min if partial.merge is Merge.MIN else max
    if partial.type.kind is TypeKind.DECIMAL:
        return lambda left, right: choose(left, right, key=Decimal)
    if partial.type.kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return lambda left, right: choose(left, right, key=_nan_last)
    return choose


def _sum_of(kind: DataType) -> Callable[[Any, Any], Any]:
    if kind.kind is TypeKind.DECIMAL:
        return lambda left, right: str(Decimal(left) + Decimal(right))
    if kind.kind is TypeKind.BIGINT:
        return lambda left, right: (left + right + _HALF) % _WRAP - _HALF
    return lambda left, right: left + right


def _nan_last(value: float) -> tuple[bool, float]:
    """Order numbers as Spark does: not-a-number is larger than all others."""
    return (True, 0.0) if math.isnan(value) else (False, value)
