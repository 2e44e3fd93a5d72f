"""Orders of rows, as behind ORDER BY: which rows of a group are its first ones."""

from collections.abc import Sequence
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

_ASCENDING = "ASC NULLS FIRST"


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """DuckDB SQL over the columns of a row, and its direction: `DESC NULLS LAST`."""

    sql: str
    direction: str

    def __str__(self) -> str:
        return f"{self.sql} {self.direction}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """Groups of rows, and the order of rows within a group; `names` are those of all columns.

    Nulls come first in ascending order and last in a descending one, as in Spark, if the text does not say otherwise.
    """

    by_columns: tuple[SelectColumn, ...]
    terms: tuple[OrderTerm, ...]
    names: tuple[str, ...]

    @property
    def order_sql(self) -> str:
        """The order, behind ORDER BY."""
        return ", ".join(map(str, self.terms))

    def sort_key_sql(self, key: Sequence[str]) -> str:
        """Write the place of a row in the order as bytes that sort alike; of equal rows those with the least key first.

        No such value is the beginning of another one.
        """
        terms = [*self.terms, *(OrderTerm(quoted(name), _ASCENDING) for name in key)]
        arguments = [f"{term.sql}, '{term.direction}'" for term in terms]
        return f"create_sort_key({', '.join(arguments)})"

    @property
    def total_order_sql(self) -> str:
        """The order made total by all columns: no two different rows are equal in it, whichever came first."""
        return ", ".join([*map(str, self.terms), *(quoted(name) for name in self.names)])


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


def _term(item: exp.Ordered, checker: Checker) -> OrderTerm | None:
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
    return OrderTerm(guarded(value), f"{direction} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}")
