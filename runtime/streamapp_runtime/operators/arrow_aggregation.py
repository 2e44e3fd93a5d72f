"""Plain aggregates of plain columns, grouped by Arrow: on a small batch ten times as fast as a query."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.expressions import Aggregation, PlainAggregate
from streamapp_core.schema import TypeKind

_COMPUTED_KEYS = (TypeKind.FLOAT, TypeKind.DOUBLE)
"""Types in which several values are one key: zero with and without a sign, and all NaNs."""
_VALID = pc.CountOptions(mode="only_valid")


class ArrowGroupBy:
    """Groups batches; a result has the columns of the key, then the aggregates."""

    def __init__(self, by: Sequence[str], aggregates: Sequence[PlainAggregate]) -> None:
        self._by = list(by)
        self._aggregates = [
            ([], "count_all", None)
            if aggregate.column is None
            else (aggregate.column, aggregate.function, _VALID if aggregate.function == "count" else None)
            for aggregate in aggregates
        ]

    def aggregate(self, rows: pa.Table) -> pa.Table:
        """Aggregate a batch into one row per key."""
        return rows.group_by(self._by, use_threads=False).aggregate(self._aggregates)


def arrow_group_by(aggregation: Aggregation, also_by: Sequence[str]) -> ArrowGroupBy | None:
    """Return a group-by over the columns of an aggregation and further ones of the batch; None if that takes SQL."""
    by = [column.name for column in aggregation.by_columns] + [*also_by]
    plain = [partial.plain for partial in aggregation.partials if partial.plain is not None]
    computed = any(column.type.kind in _COMPUTED_KEYS for column in aggregation.by_columns)
    return ArrowGroupBy(by, plain) if by and not computed and len(plain) == len(aggregation.partials) else None
