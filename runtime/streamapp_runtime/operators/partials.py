"""Partial results of aggregates: made of a batch by SQL, merged per key in plain Python.

A batch is grouped once, vectorised; the merge then costs a few operations per distinct key, not per row.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge, Partial, partials_sql, table
from streamapp_core.schema import DataType, TypeKind
from streamapp_runtime.rows.codec import plain_rows
from streamapp_runtime.sql.engine import SqlEngine

_WRAP, _HALF = 1 << 64, 1 << 63
_EXACT = Context(prec=80)


class PartialResults:
    """The partial results of one aggregation: how a batch makes them, and how two of one key become one.

    A row of partial results is plain values: the columns of `by`, those of `also_by`, then the partial aggregates.
    """

    def __init__(self, engine: SqlEngine, aggregation: Aggregation, also_by: Sequence[str] = ()) -> None:
        """Group by the aggregation's columns and by further columns of the batches."""
        self._engine = engine
        self._sql = partials_sql(aggregation, table("rows"), also_by)
        first = len(aggregation.by_columns) + len(also_by)
        self._mergers = list(enumerate(map(_merger, aggregation.partials), first))

    def of_batch(self, rows: pa.Table) -> list[tuple[Any, ...]]:
        """Group a batch (never an empty one): a row of partial results per key."""
        return plain_rows(self._engine.query(self._sql, rows=rows).columns)

    def merge(self, state: list[Any] | None, partial: Sequence[Any]) -> list[Any]:
        """Add the partial results of a batch to those of its key so far, in place."""
        if state is None:
            return list(partial)
        for at, merge in self._mergers:
            value = partial[at]
            if value is not None:
                before = state[at]
                state[at] = value if before is None else merge(before, value)
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
        return _decimal_sum(kind)
    if kind.kind is TypeKind.BIGINT:
        return lambda left, right: (left + right + _HALF) % _WRAP - _HALF
    return lambda left, right: left + right


def _decimal_sum(kind: DataType) -> Callable[[str, str], str | None]:
    """Add decimals written as text; a sum that does not fit its type is null."""
    limit = Decimal(10) ** (kind.precision - kind.scale)

    def add(left: str, right: str) -> str | None:
        total = _EXACT.add(Decimal(left), Decimal(right))
        return str(total) if abs(total) < limit else None

    return add


def _nan_last(value: float) -> tuple[bool, float]:
    """Order numbers as Spark does: not-a-number is larger than all others."""
    return (True, 0.0) if math.isnan(value) else (False, value)
