"""Calls of aggregates, as they are written."""

from dataclasses import dataclass

from sqlglot import exp

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.aggregates_and_generators import MOST_COLLECTED
from streamapp_core.expressions.literals import literal

_COLLECTED = "array_join(slice(collect_list(a), 1, n), ', ')"
COLLECTING = frozenset({"array_join", "slice", "collect_list"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """One aggregate of an expression; `argument` is None for `count(*)`.

    `limit` (0: it does not collect) and `separator` are those of collected values.
    """

    name: str
    argument: exp.Expr | None
    distinct: bool = False
    limit: int = 0
    separator: str = ""


def aggregate_call(name: str, node: exp.Expr) -> AggregateCall:
    """Read the call of an aggregate; `name` is that of its function in lower case.

    Raises:
        Refusal: It is not written as such a call is.
    """
    if name in COLLECTING:
        return _collect(node)
    arguments = node.expressions
    if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        return _count_distinct(arguments[0])
    if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct):
        raise invalid(f"{name} takes one argument, without distinct (which only count takes)")
    if not isinstance(arguments[0], exp.Star):
        return AggregateCall(name=name, argument=arguments[0])
    if name != "count":
        raise invalid(f"{name}(*) is not possible: name a column")
    return AggregateCall(name=name, argument=None)


def _count_distinct(node: exp.Distinct) -> AggregateCall:
    values = node.expressions
    if len(values) != 1 or isinstance(values[0], exp.Star) or node.args.get("on"):
        raise invalid("count(distinct ...) takes one expression")
    return AggregateCall(name="count", argument=values[0], distinct=True)


def _collect(node: exp.Expr) -> AggregateCall:
    """Read the one form in which values are collected: there are no arrays, and what is kept must have a bound."""
    joined, separator = _arguments(node, "array_join", 2)
    collected, first, limit = _arguments(joined, "slice", 3)
    (argument,) = _arguments(collected, "collect_list", 1)
    text, start, most = (_literal(part) for part in (separator, first, limit))
    if isinstance(argument, exp.Distinct | exp.Star):
        raise invalid(f"collect_list takes an expression, as in {_COLLECTED}")
    if not isinstance(text, str):
        raise invalid(f"the separator must be a text literal, as in {_COLLECTED}")
    if start != 1 or not isinstance(most, int) or not 1 <= most <= MOST_COLLECTED:
        raise invalid(f"slice takes 1 and a number from 1 to {MOST_COLLECTED} here, as in {_COLLECTED}")
    return AggregateCall(name="collect_list", argument=argument, limit=most, separator=text)


def _arguments(node: exp.Expr, name: str, count: int) -> list[exp.Expr]:
    called = isinstance(node, exp.Anonymous) and str(node.this).lower() == name
    if not called or len(node.expressions) != count:
        raise invalid(f"values are collected as in {_COLLECTED}")
    return list(node.expressions)


def _literal(node: exp.Expr) -> object:
    return literal(node).literal if isinstance(node, exp.Literal | exp.RawString) else None
