"""Select lists of aggregates, taken apart so that partial results can be merged across batches and sessions.

A batch is reduced to one row of partial results per group (`partial_aggregates`); the result is computed from the
merged row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from streamapp_core.data_types import unordered
from streamapp_core.expressions.aggregate_writers import written
from streamapp_core.expressions.checker import Checker
from streamapp_core.expressions.earlier_names import EarlierNames
from streamapp_core.expressions.expression_issues import ExpressionError, ExpressionIssue, Refusal, invalid
from streamapp_core.expressions.interval_values import check_held
from streamapp_core.expressions.parsing import output_name, parse_items
from streamapp_core.expressions.partial_aggregates import Partial, PartialsBuilder
from streamapp_core.expressions.select import SelectColumn, check_name, guarded
from streamapp_core.expressions.type_rules import FRACTIONAL
from streamapp_core.expressions.typed_sql import Remark, Value, cast, one_zero, quoted
from streamapp_core.expressions.user_functions import NO_FUNCTIONS, UserFunctions
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import Schema, TypeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """A grouped select list in three steps.

    `by_columns` are computed from the rows; their names and those of `partials` are what the SQL of `columns` uses.
    """

    by_columns: tuple[SelectColumn, ...]
    partials: tuple[Partial, ...]
    columns: tuple[SelectColumn, ...]
    remarks: tuple[Remark, ...] = field(default=(), compare=False)


def check_aggregate(
    text: str, by: Sequence[str], schema: Schema, functions: UserFunctions = NO_FUNCTIONS
) -> Aggregation:
    """Check a select list of aggregates, as in `count(*) as n, round(avg(x), 1) as m`, grouped by columns.

    Raises:
        ExpressionError: An item is wrong, uses a column outside of aggregates that is not in `by`, or has no name, or
            that of a column in `by`; all issues at once.
    """
    builder = PartialsBuilder()
    issues: list[ExpressionIssue] = []
    by_columns = check_by_columns(by, schema, issues)
    grouped = {
        column.name.lower(): Value(column.type, quoted(column.name), simple=True, column=column.name)
        for column in by_columns
    }
    checker = Checker(schema, partial(written, builder), grouped, functions)
    taken = {column.name.lower() for column in by_columns}
    earlier = EarlierNames(schema)
    columns = [_item(item, position, checker, taken, earlier) for position, item in enumerate(parse_items(text), 1)]
    issues += checker.issues
    if issues or checker.incomplete:
        raise ExpressionError(tuple(issues))
    return Aggregation(
        by_columns=by_columns,
        partials=tuple(builder.partials),
        columns=tuple(filter(None, columns)),
        remarks=tuple(checker.remarks),
    )


def check_by_columns(by: Sequence[str], schema: Schema, issues: list[ExpressionIssue]) -> tuple[SelectColumn, ...]:
    """Return the columns of a group, with equal values made alike; what is wrong with them is added to `issues`."""
    columns: list[SelectColumn] = []
    for name in by:
        column = schema.get(name)
        if column is None:
            message = f"unknown column `{name}` in by; columns: {', '.join(schema.names[:20])}"
            issues.append(ExpressionIssue(ProblemCode.UNKNOWN_COLUMN, message))
            continue
        if column.type.nested or unordered(column.type):
            message = f"`{name}` in by is {column.type}; group by what is inside of it"
            issues.append(ExpressionIssue(ProblemCode.TYPE_MISMATCH, message))
            continue
        sql = quoted(column.name)
        if column.type.kind in FRACTIONAL:
            # -0.0 and 0.0 are one group, and so are all NaN: give each group one value.
            sql = cast(one_zero(sql), column.type)
        columns.append(SelectColumn(name=column.name, type=column.type, sql=sql, source_column=column.name))
    return tuple(columns)


def _item(
    item: exp.Expr, position: int, checker: Checker, taken: set[str], earlier: EarlierNames
) -> SelectColumn | None:
    try:
        item = earlier.resolved(item)
        earlier.add(item)
        name, node = output_name(item)
        value = checker.check(node)
        if value is not None and value.type is None:
            raise invalid(f"`{name}` is null without a type: write cast(null as string)")
        if value is not None and value.type and TypeKind.VOID in value.type.kinds:
            raise invalid(f"`{name}` is {value.type}, with nulls without a type: write cast(... as array<string>)")
        if name is not None and value is not None and (value.column or "").lower() == name.lower():
            raise invalid(f"`{name}` is in `by`, whose columns stand in the result anyway: leave it out of the list")
        name = check_name(name, position, taken)
        if value and value.type:
            check_held(value.type, f"`{name}`")
    except Refusal as refusal:
        checker.issues.append(refusal.issue)
        return None
    if value is None or value.type is None:
        return None
    return SelectColumn(name=name, type=value.type, sql=guarded(value), source_column=value.column)
