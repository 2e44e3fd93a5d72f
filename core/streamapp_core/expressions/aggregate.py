"""Aggregates, taken apart so that partial results can be merged across batches and tasks.

A batch is reduced to one row of partial results per group; partial results of one group are merged by sum, minimum or
maximum, in any order; the result is computed from the merged row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from streamapp_core.expressions.arithmetic import digits_of, divided
from streamapp_core.expressions.checker import Checker
from streamapp_core.expressions.conversions import converted, number, wrapped
from streamapp_core.expressions.issues import ExpressionError, ExpressionIssue, Refusal, invalid
from streamapp_core.expressions.parsing import parse_items
from streamapp_core.expressions.select import SelectColumn, check_name, guarded, output_name
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, decimal
from streamapp_core.expressions.value import Value, cast, quoted, try_cast
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import BIGINT, DOUBLE, MAX_PRECISION, DataType, Schema, TypeKind

_SUM_DIGITS = 10
_AVERAGE_DIGITS = 4


class Merge(StrEnum):
    """How two partial results of one group become one; a null counts for nothing.

    Sums of bigint wrap around, sums of a decimal that does not fit are null.
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """One partial result of a group: `sql` is a DuckDB aggregate over the rows of a batch."""

    name: str
    type: DataType
    sql: str
    merge: Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """A grouped select list in three steps.

    `by_columns` are computed from the rows; their names and those of `partials` are what the SQL of `columns` uses.
    """

    by_columns: tuple[SelectColumn, ...]
    partials: tuple[Partial, ...]
    columns: tuple[SelectColumn, ...]


def check_aggregate(text: str, by: Sequence[str], schema: Schema) -> Aggregation:
    """Check a select list of aggregates, as in `count(*) as n, round(avg(x), 1) as m`, grouped by columns.

    Raises:
        ExpressionError: An item is wrong, uses a column outside of aggregates that is not in `by`, or has no name, or
            that of a column in `by`; all issues at once.
    """
    builder = _Builder()
    issues: list[ExpressionIssue] = []
    by_columns = _by_columns(by, schema, issues)
    grouped = {column.name.lower(): Value(column.type, quoted(column.name), simple=True) for column in by_columns}
    checker = Checker(schema, builder.take, grouped)
    taken = {column.name.lower() for column in by_columns}
    items = enumerate(parse_items(text), 1)
    columns = [_item(item, position, checker, taken) for position, item in items]
    issues += checker.issues
    if issues:
        raise ExpressionError(tuple(issues))
    return Aggregation(by_columns=by_columns, partials=tuple(builder.partials), columns=tuple(filter(None, columns)))


def merged(partial: Partial) -> str:
    """Write the DuckDB aggregate that merges the partial results of one group."""
    name = quoted(partial.name)
    if partial.merge is Merge.SUM:
        return _sum(Value(partial.type, name), partial.type)
    return f"{partial.merge}({name})"


def _by_columns(by: Sequence[str], schema: Schema, issues: list[ExpressionIssue]) -> tuple[SelectColumn, ...]:
    columns: list[SelectColumn] = []
    for name in by:
        column = schema.get(name)
        if column is None:
            message = f"unknown column `{name}` in by; columns: {', '.join(schema.names[:20])}"
            issues.append(ExpressionIssue(ProblemCode.UNKNOWN_COLUMN, message))
            continue
        sql = quoted(column.name)
        if column.type.kind in FRACTIONAL:
            # -0.0 and 0.0 are one group, and so are all NaN: give each group one value.
            sql = cast(f"CASE WHEN isnan({sql}) THEN 'nan' ELSE {sql} + 0 END", column.type)
        columns.append(SelectColumn(name=column.name, type=column.type, sql=sql, source_column=column.name))
    return tuple(columns)


def _item(item: exp.Expr, position: int, checker: Checker, taken: set[str]) -> SelectColumn | None:
    name, node = output_name(item)
    value = checker.check(node)
    try:
        if value is not None and value.type is None:
            raise invalid(f"`{name}` is null without a type: write cast(null as string)")
        name = check_name(name, position, taken)
    except Refusal as refusal:
        checker.issues.append(refusal.issue)
        return None
    if value is None or value.type is None:
        return None
    return SelectColumn(name=name, type=value.type, sql=guarded(value))


class _Builder:
    """Collects the partial results that the aggregates of one list need; equal ones are kept once."""

    def __init__(self) -> None:
        self.partials: list[Partial] = []

    def take(self, name: str, argument: Value | None) -> Value:
        if argument is None:
            return self._count("count(*)")
        if argument.type is None:
            raise Refusal(f"{name} takes a value with a type, got null")
        match name:
            case "count":
                return self._count(f"count({guarded(argument)})")
            case "sum":
                return self._sum(argument)
            case "avg" | "mean":
                return self._average(argument)
            case _:
                merge = Merge.MIN if name == "min" else Merge.MAX
                return self._partial(argument.type, f"{name}({guarded(argument)})", merge)

    def _partial(self, data_type: DataType, sql: str, merge: Merge) -> Value:
        for partial in self.partials:
            if (partial.sql, partial.merge, partial.type) == (sql, merge, data_type):
                return Value(data_type, quoted(partial.name), simple=True)
        partial = Partial(name=f"__p{len(self.partials)}", type=data_type, sql=sql, merge=merge)
        self.partials.append(partial)
        return Value(data_type, quoted(partial.name), simple=True)

    def _count(self, sql: str) -> Value:
        partial = self._partial(BIGINT, sql, Merge.SUM)
        return Value(BIGINT, f"coalesce({partial.sql}, 0)")

    def _sum(self, argument: Value) -> Value:
        value = number(argument)
        target = _sum_type(value.type or DOUBLE)
        return self._partial(target, _sum(Value(value.type, guarded(value)), target), Merge.SUM)

    def _average(self, argument: Value) -> Value:
        value = number(argument)
        source = value.type or DOUBLE
        count = self._partial(BIGINT, f"count({guarded(argument)})", Merge.SUM)
        if source.kind is not TypeKind.DECIMAL:
            total = self._sum(converted(value, DOUBLE))
            return Value(DOUBLE, f"({total.sql} / {count.sql})")
        total = self._sum(value)
        decimal(source.precision + _SUM_DIGITS + _AVERAGE_DIGITS, source.scale)
        target = decimal(source.precision + _AVERAGE_DIGITS, source.scale + _AVERAGE_DIGITS)
        digits = f"{digits_of(total)} * {10**_AVERAGE_DIGITS}"
        return Value(target, divided(digits, cast(count.sql, "HUGEINT"), target))


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
