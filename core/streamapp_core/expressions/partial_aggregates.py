"""Partial results: what the aggregates of a list are taken apart into, and how those of one group become one.

A batch is reduced to one row of partial results per group. Rows of one group are merged value by value: sums, least and
greatest values in any order, what goes by time in the order of arrival.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.arithmetic import digits_of, divided
from streamapp_core.expressions.conversions import converted, number, wrapped
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, decimal
from streamapp_core.expressions.typed_sql import Value, cast, one_zero, quoted, text, try_cast
from streamapp_core.schema import (
    BIGINT,
    DOUBLE,
    EVENT_TIME_COLUMN,
    MAX_PRECISION,
    RESERVED_PREFIX,
    STRING,
    DataType,
    TypeKind,
)

ARRIVAL_COLUMN = f"{RESERVED_PREFIX}arrival"
"""The position of a row in its batch: a column (bigint) that batches have if partial results go by time."""

_ORDERED = (TypeKind.INT, TypeKind.BIGINT, TypeKind.DATE, TypeKind.TIMESTAMP)
"""Values that all systems order alike."""
_SUM_DIGITS = 10
_AVERAGE_DIGITS = 4
_BEGINNING = -(2**63)


class Merge(StrEnum):
    """The ways to merge two partial results of one group; a null counts for nothing.

    Sums of bigint wrap around, sums of a decimal that does not fit are null. A union is the list of the distinct
    values. The others are pairs of event time and value: the first or last of two, or the list of the first ones. Of
    equal times the one that came earlier is the first; rows without a time come before all others.
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    UNION = "union"
    FIRST = "first"
    LAST = "last"
    COLLECT = "collect"

    @property
    def by_time(self) -> bool:
        """Whether event times and the order of arrival decide."""
        return self in (Merge.FIRST, Merge.LAST, Merge.COLLECT)


@dataclass(frozen=True, slots=True)
class PlainAggregate:
    """An aggregate (`count`, `sum`, `min` or `max`) of a column as it is; without a column, the number of rows.

    It means the same everywhere: sums are of whole numbers and wrap around, and nulls count for nothing.
    """

    function: str
    column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """One partial result of a group: `sql` is a DuckDB aggregate over the rows of a batch.

    `type` is that of what the result is computed from: the merged value; of a union the number of its values; of pairs
    the value, of collected ones each value of a list. `limit` is the most that are collected. `plain` is equivalent to
    `sql`, where the aggregate is that simple.
    """

    name: str
    type: DataType
    sql: str
    merge: Merge
    limit: int = field(default=1, repr=False)  # a store's shape goes by the repr, and the SQL has the limit
    plain: PlainAggregate | None = field(default=None, repr=False)


class PartialsBuilder:
    """Collects the partial results that the aggregates of one list need; equal ones are kept once.

    What stands for the result of an aggregate is SQL over the names of its partial results.
    """

    def __init__(self) -> None:
        self.partials: list[Partial] = []

    def take(self, call: AggregateCall, argument: Value | None) -> Value:
        """See `AggregateWriter`.

        Raises:
            Refusal: There is no such aggregate of values of this type.
        """
        if argument is None:
            return self._count("count(*)", PlainAggregate("count", None))
        if argument.type is None:
            raise Refusal(f"{call.name} takes a value with a type, got null")
        if argument.type.nested and (call.distinct or call.name != "count"):
            raise Refusal(f"{call.name} takes no {argument.type}; take what is inside of it, as in {call.name}(a.b)")
        if call.distinct:
            return self._distinct(argument)
        if call.limit:
            return self._collected(converted(argument, STRING), call.limit, call.separator)
        return _WRITERS[call.name](self, argument, argument.type)

    def count(self, argument: Value, _: DataType) -> Value:
        """Write `count(argument)`."""
        return self._count(f"count({guarded(argument)})", _plain("count", argument))

    def sum(self, argument: Value, _: DataType) -> Value:
        """Write `sum(argument)`."""
        value = number(argument)
        target = _sum_type(value.type or DOUBLE)
        plain = _plain("sum", value) if value.kind in INTEGRAL else None
        return self._partial(target, _sum(Value(value.type, guarded(value)), target), Merge.SUM, plain=plain)

    def average(self, argument: Value, _: DataType) -> Value:
        """Write `avg(argument)`."""
        value = number(argument)
        source = value.type or DOUBLE
        count = self.count(argument, BIGINT)
        if source.kind is not TypeKind.DECIMAL:
            total = self.sum(converted(value, DOUBLE), DOUBLE)
            return Value(DOUBLE, f"({total.sql} / {count.sql})")
        total = self.sum(value, source)
        decimal(source.precision + _SUM_DIGITS + _AVERAGE_DIGITS, source.scale)
        target = decimal(source.precision + _AVERAGE_DIGITS, source.scale + _AVERAGE_DIGITS)
        digits = f"{digits_of(total)} * {10**_AVERAGE_DIGITS}"
        return Value(target, divided(digits, cast(count.sql, "HUGEINT"), target))

    def least(self, argument: Value, data_type: DataType) -> Value:
        """Write `min(argument)`."""
        plain = _plain("min", argument) if data_type.kind in _ORDERED else None
        return self._partial(data_type, f"min({guarded(argument)})", Merge.MIN, plain=plain)

    def greatest(self, argument: Value, data_type: DataType) -> Value:
        """Write `max(argument)`."""
        plain = _plain("max", argument) if data_type.kind in _ORDERED else None
        return self._partial(data_type, f"max({guarded(argument)})", Merge.MAX, plain=plain)

    def first(self, argument: Value, data_type: DataType) -> Value:
        """Write `first(argument)`."""
        return self._partial(data_type, _by_time("arg_min", argument), Merge.FIRST)

    def last(self, argument: Value, data_type: DataType) -> Value:
        """Write `last(argument)`."""
        return self._partial(data_type, _by_time("arg_max", argument), Merge.LAST)

    def _count(self, sql: str, plain: PlainAggregate | None) -> Value:
        return self._partial(BIGINT, sql, Merge.SUM, plain=plain)

    def _distinct(self, argument: Value) -> Value:
        value = guarded(argument)
        if argument.kind in FRACTIONAL:
            # As text every NaN equals the others.
            value = cast(one_zero(value), "VARCHAR")
        partial = self._partial(BIGINT, f"list(DISTINCT {value}) FILTER ({value} IS NOT NULL)", Merge.UNION)
        return Value(BIGINT, f"coalesce({partial.sql}, 0)")

    def _collected(self, argument: Value, limit: int, separator: str) -> Value:
        sql = _by_time("arg_min", argument, f", {limit}")
        partial = self._partial(STRING, sql, Merge.COLLECT, limit)
        return Value(STRING, f"coalesce(array_to_string({partial.sql}, {text(separator)}), '')")

    def _partial(
        self, data_type: DataType, sql: str, merge: Merge, limit: int = 1, plain: PlainAggregate | None = None
    ) -> Value:
        key = (sql, merge, data_type)
        known = (partial.name for partial in self.partials if (partial.sql, partial.merge, partial.type) == key)
        name = next(known, None)
        if name is None:
            name = f"__p{len(self.partials)}"
            self.partials.append(Partial(name=name, type=data_type, sql=sql, merge=merge, limit=limit, plain=plain))
        return Value(data_type, quoted(name), simple=True, column=name)


_WRITERS: Mapping[str, Callable[[PartialsBuilder, Value, DataType], Value]] = {
    "count": PartialsBuilder.count,
    "sum": PartialsBuilder.sum,
    "avg": PartialsBuilder.average,
    "mean": PartialsBuilder.average,
    "min": PartialsBuilder.least,
    "max": PartialsBuilder.greatest,
    "first": PartialsBuilder.first,
    "last": PartialsBuilder.last,
}


def _plain(function: str, argument: Value) -> PlainAggregate | None:
    return PlainAggregate(function, argument.column) if argument.column is not None else None


def _sum_type(data_type: DataType) -> DataType:
    if data_type.kind in INTEGRAL:
        return BIGINT
    if data_type.kind is TypeKind.DECIMAL:
        if data_type.precision + _SUM_DIGITS > MAX_PRECISION:
            raise Refusal(f"a sum of {data_type} may have more than {MAX_PRECISION} digits; cast to a smaller decimal")
        return DataType(TypeKind.DECIMAL, data_type.precision + _SUM_DIGITS, data_type.scale)
    return DOUBLE


def _sum(value: Value, target: DataType) -> str:
    if target == BIGINT:
        return wrapped(f"CAST(sum({value.sql}) AS HUGEINT)", target)
    if target.kind is TypeKind.DECIMAL:
        return try_cast(f"sum({value.sql})", target)
    return f"sum({cast(value.sql, DOUBLE)})"


def _by_time(choose: str, argument: Value, more: str = "") -> str:
    """Write the choice of pairs of time and value by time, and then by the order of arrival."""
    value = guarded(argument)
    time = f"coalesce({quoted(EVENT_TIME_COLUMN)}, {_BEGINNING})"
    order = f"{{'time': {time}, 'arrival': {quoted(ARRIVAL_COLUMN)}}}"
    return f"{choose}({{'time': {time}, 'value': {value}}}, {order}{more}) FILTER ({value} IS NOT NULL)"
