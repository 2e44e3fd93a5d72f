"""Calls of aggregates, as they are written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.aggregates_and_generators import MOST_COLLECTED, NULLS_COUNT
from streamapp_core.expressions.literals import literal
from streamapp_core.expressions.typed_sql import Value

_COLLECTED = "array_join(slice(collect_list(a), 1, n), ', ')"
JOINING = "array_join"
_DISTINCT = frozenset(
    {"count", "listagg", "string_agg", "sum", "avg", "mean", "min", "max", "collect_list", "array_agg", "collect_set"}
)
AGGREGATE_FORMS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
"""The nodes around the call of an aggregate: `sum(a) filter (where b)`, `first(a) ignore nulls`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """The order in `within group (order by ...)`."""

    value: exp.Expr
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """One aggregate of an expression; `count(*)` has no arguments.

    `limit` (0: it does not collect) and `separator` are those of collected values. `condition` is that of a filter.
    """

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    limit: int = 0
    separator: str = ""
    condition: exp.Expr | None = None
    ignores_nulls: bool = False
    ordering: Ordering | None = None


def aggregate_name(node: exp.Expr) -> str:
    """Return the name of the function that is called, in lower case; empty if the node is no call."""
    while isinstance(node, AGGREGATE_FORMS):
        node = node.this
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def joins_collected(node: exp.Expr) -> bool:
    """Return whether a call joins the first collected values as texts: only these are kept."""
    try:
        _collect(node)
    except Refusal:
        return False
    return True


def aggregate_call(node: exp.Expr) -> AggregateCall:
    """Read the call of an aggregate, with what stands behind it.

    Raises:
        Refusal: It is not written as such a call is.
    """
    inner = node.this
    if isinstance(node, exp.WithinGroup) and not isinstance(inner, exp.Anonymous):
        raise invalid("`within group` stands right behind the call")
    if isinstance(node, exp.Filter):
        return replace(aggregate_call(inner), condition=node.args["expression"].this)
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        call = aggregate_call(inner)
        if call.name not in NULLS_COUNT:
            raise invalid(f"{call.name} has no `ignore nulls`: it leaves them out")
        return replace(call, ignores_nulls=isinstance(node, exp.IgnoreNulls))
    if isinstance(node, exp.WithinGroup):
        return replace(_call(aggregate_name(inner), inner), ordering=_ordering(node.args["expression"]))
    return _call(aggregate_name(node), node)


def counted(call: AggregateCall, arguments: Sequence[Value], count: int) -> Sequence[Value]:
    """Return the arguments.

    Raises:
        Refusal: There are more or less of them.
    """
    if len(arguments) != count:
        raise invalid(f"{call.name} takes other arguments than these {len(arguments)}: docs/expressions.md has them")
    return arguments


def _call(name: str, node: exp.Expr) -> AggregateCall:
    if name == JOINING:
        return _collect(node)
    arguments = node.expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count":
            raise invalid(f"{name}(*) is not possible: name a column")
        return AggregateCall(name=name, arguments=())
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if distinct:
        if name not in _DISTINCT:
            raise invalid(f"{name} is without distinct here, which {', '.join(sorted(_DISTINCT))} take")
        if arguments[0].args.get("on"):
            raise invalid(f"write {name}(distinct a)")
        arguments = [*arguments[0].expressions, *arguments[1:]]
        if any(isinstance(argument, exp.Star) for argument in arguments):
            raise invalid(f"{name}(distinct ...) takes expressions, not *")
    if name in NULLS_COUNT and len(arguments) == 2:  # noqa: PLR2004
        if not isinstance(arguments[1], exp.Boolean):
            raise invalid(f"the second argument of {name}(a, true) says whether nulls are left out: true or false")
        return AggregateCall(name=name, arguments=(arguments[0],), ignores_nulls=bool(arguments[1].this))
    return AggregateCall(name=name, arguments=tuple(arguments), distinct=distinct)


def _ordering(node: exp.Expr) -> Ordering:
    ordered = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(ordered, exp.Ordered) or node.args.get("siblings"):
        raise invalid("within group takes one value: (order by a), or (order by a desc)")
    descending = bool(ordered.args.get("desc"))
    if bool(ordered.args.get("nulls_first")) == descending:
        raise invalid("nulls are left out: no `nulls first` and `nulls last`")
    return Ordering(value=ordered.this, descending=descending)


def _collect(node: exp.Expr) -> AggregateCall:
    """Read the form in which few values are collected."""
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
    return AggregateCall(name="collect_list", arguments=(argument,), limit=most, separator=text)


def _arguments(node: exp.Expr, name: str, count: int) -> list[exp.Expr]:
    called = isinstance(node, exp.Anonymous) and str(node.this).lower() == name
    if not called or len(node.expressions) != count:
        raise invalid(f"values are collected as in {_COLLECTED}")
    return list(node.expressions)


def _literal(node: exp.Expr) -> object:
    return literal(node).literal if isinstance(node, exp.Literal | exp.RawString) else None
