"""Orders of rows, as behind ORDER BY: which rows of a group are its first ones."""

from dataclasses import dataclass

from sqlglot import exp

from streamapp_core.data_types import unordered
from streamapp_core.expressions.aggregate_select import check_by_columns
from streamapp_core.expressions.checker import Checker
from streamapp_core.expressions.expression_issues import ExpressionError, ExpressionIssue, Refusal, invalid
from streamapp_core.expressions.parsing import parse_ordering
from streamapp_core.expressions.select import SelectColumn, guarded
from streamapp_core.expressions.typed_sql import quoted
from streamapp_core.expressions.user_functions import NO_FUNCTIONS, UserFunctions
from streamapp_core.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """Groups of rows, and the order of rows within a group.

    `terms` are DuckDB SQL over the columns of a row, with directions; `names` are those of all columns. Nulls come
    first in ascending order and last in a descending one, as in Spark, if the text does not say otherwise.
    """

    by_columns: tuple[SelectColumn, ...]
    terms: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def order_sql(self) -> str:
        """The order, behind ORDER BY."""
        return ", ".join(self.terms)

    @property
    def total_order_sql(self) -> str:
        """The order made total by all columns: no two different rows are equal in it, whichever came first."""
        return ", ".join([*self.terms, *(quoted(name) for name in self.names)])


def check_ordering(
    text: str | None, by: tuple[str, ...], schema: Schema, functions: UserFunctions = NO_FUNCTIONS
) -> Ordering:
    """Check an order, as in `price desc, at`, of rows that are grouped by columns; None: no order.

    Raises:
        ExpressionError: It does not parse, or what it orders by has no order; all issues at once.
    """
    issues: list[ExpressionIssue] = []
    by_columns = check_by_columns(by, schema, issues)
    checker = Checker(schema, functions=functions)
    terms = []
    for item in () if text is None else parse_ordering(text):
        try:
            term = _term(item, checker)
        except Refusal as refusal:
            checker.refuse(refusal)
            continue
        terms += [] if term is None else [term]
    issues += checker.issues
    if issues or checker.incomplete:
        raise ExpressionError(tuple(issues))
    return Ordering(by_columns=by_columns, terms=tuple(terms), names=schema.names)


def _term(item: exp.Ordered, checker: Checker) -> str | None:
    if isinstance(item.this, exp.Literal):
        raise invalid(f"`{item.this.this}` is the same for all rows: name a column or an expression of columns")
    value = checker.check(item.this)
    if value is None:
        return None
    if value.type is None or value.type.nested or unordered(value.type):
        raise Refusal(
            f"`{item.this.sql('spark')}` is {value.type or 'null'}, which has no order; order by what is in it"
        )
    direction = "DESC" if item.args.get("desc") else "ASC"
    return f"{guarded(value)} {direction} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}"
