"""Partial results: what the aggregates of a list are taken apart into, and how those of one group become one.

A batch is reduced to one row of partial results per group. Rows of one group are merged value by value: sums, least and
greatest values in any order, what goes by time in the order of arrival.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from streamapp_core.expressions.typed_sql import Value, quoted
from streamapp_core.schema import RESERVED_PREFIX, DataType

ARRIVAL_COLUMN = f"{RESERVED_PREFIX}arrival"
"""The position of a row in its batch: a column (bigint) that batches have if partial results go by time."""


class Merge(StrEnum):
    """The ways to merge two partial results of one group; a null counts for nothing.

    Sums of bigint wrap around, sums of a decimal that does not fit are null. A union is the list of the distinct
    values, counts are how often each came.

    `FIRST`, `LAST` and `COLLECT` are pairs of event time and value: the first or last of two, or the list of the first
    ones. Of equal times the one that came earlier is the first; rows without a time come before all others. `LEAST_BY`
    and `GREATEST_BY` have what goes before the time: the least or greatest, of equals the last one.

    The rest is computed value after value in the order of arrival: floating numbers have another sum in another order.
    A batch's partial result is then the list of its values, the merged one a list of numbers (`moments`), or what a
    `SUMMARY` keeps.
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    BIT_AND = "bit_and"
    BIT_OR = "bit_or"
    BIT_XOR = "bit_xor"
    UNION = "union"
    COUNTS = "counts"
    FIRST = "first"
    LAST = "last"
    COLLECT = "collect"
    LEAST_BY = "least_by"
    GREATEST_BY = "greatest_by"
    VARIANCE = "variance"
    MOMENTS = "moments"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    CHECKED_SUM = "checked_sum"
    SUMMARY = "summary"

    @property
    def by_arrival(self) -> bool:
        """Whether the order of arrival counts."""
        return self in _BY_ARRIVAL


FOLDS = frozenset(
    {Merge.VARIANCE, Merge.MOMENTS, Merge.COVARIANCE, Merge.CORRELATION, Merge.CHECKED_SUM, Merge.SUMMARY}
)
"""What is computed value after value."""
_BY_ARRIVAL = FOLDS | {Merge.FIRST, Merge.LAST, Merge.COLLECT, Merge.LEAST_BY, Merge.GREATEST_BY}


@dataclass(frozen=True, slots=True)
class PlainAggregate:
    """An aggregate (`count`, `sum`, `min` or `max`) of a column as it is; without a column, the number of rows.

    It means the same everywhere: sums are of whole numbers and wrap around, and nulls count for nothing.
    """

    function: str
    column: str | None


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """A summary that the runtime keeps of the values of a group (`runtime.summaries`), by its name and parameters."""

    name: str
    parameters: tuple[str | int | float, ...] = ()

    def of(self, value: str) -> str:
        """Write the values of a batch that are not null; a comment tells one summary of them from another."""
        written = ", ".join(map(repr, self.parameters))
        return (
            f"list({value} ORDER BY {quoted(ARRIVAL_COLUMN)}) FILTER ({value} IS NOT NULL) /* {self.name}({written}) */"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """One partial result of a group: `sql` is a DuckDB aggregate over the rows of a batch.

    `type` is that of what the result is computed from: the merged value; of a union the number of its values; of pairs
    the value, of collected ones each value of a list; of counts each value; of moments each number; of a summary its
    result. `limit` is the most that are collected, 0 if all are. `order` is the type of what decides in `LEAST_BY` and
    `GREATEST_BY`. `plain` is equivalent to `sql`, where the aggregate is that simple. `summary` is that of `SUMMARY`.
    """

    name: str
    type: DataType
    sql: str
    merge: Merge
    limit: int = field(default=1, repr=False)  # a store's shape goes by the repr, and the SQL has the limit
    order: DataType | None = field(default=None, repr=False)
    plain: PlainAggregate | None = field(default=None, repr=False)
    summary: SummaryCall | None = field(default=None, repr=False)


class PartialsBuilder:
    """Collects the partial results that the aggregates of one list need; equal ones are kept once."""

    def __init__(self) -> None:
        self.partials: list[Partial] = []

    def add(
        self,
        data_type: DataType,
        sql: str,
        merge: Merge,
        *,
        limit: int = 1,
        order: DataType | None = None,
        plain: PlainAggregate | None = None,
        summary: SummaryCall | None = None,
    ) -> Value:
        """Return what stands for a partial result in the SQL of results."""
        key = (sql, merge, data_type)
        known = (partial.name for partial in self.partials if (partial.sql, partial.merge, partial.type) == key)
        name = next(known, None)
        if name is None:
            name = f"__p{len(self.partials)}"
            self.partials.append(
                Partial(
                    name=name,
                    type=data_type,
                    sql=sql,
                    merge=merge,
                    limit=limit,
                    order=order,
                    plain=plain,
                    summary=summary,
                )
            )
        return Value(data_type, quoted(name), simple=True, column=name)

    def add_summary(self, data_type: DataType, value: str, summary: SummaryCall) -> Value:
        """Return what stands for the result of a summary of values."""
        return self.add(data_type, summary.of(value), Merge.SUMMARY, summary=summary)
