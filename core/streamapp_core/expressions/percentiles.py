"""Percentiles and the most frequent value: computed from how often each value came."""

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from streamapp_core.data_types import array_of
from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.conversions import converted, number
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.literals import literal
from streamapp_core.expressions.partial_aggregates import Merge, PartialsBuilder, SummaryCall
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.type_rules import FRACTIONAL
from streamapp_core.expressions.typed_sql import Value, cast, text
from streamapp_core.schema import BOOLEAN, DOUBLE, TypeKind

MAX_FRACTIONS = 100
PERCENTILES = frozenset({"median", "percentile", "percentile_cont", "percentile_disc", "mode"})


def percentile(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    """Write one of `PERCENTILES`; those of the same values share what is kept.

    Raises:
        Refusal: It is not written as such a call is, or of values that have no percentiles.
    """
    ordering = call.ordering
    *own, value = arguments if ordering else (*arguments[1:], *arguments[:1]) or (None,)
    if value is None:
        raise invalid(f"{call.name} takes a value")
    if call.name == "mode":
        return _mode(builder, own, value, ordering is not None, ordering is not None and ordering.descending)
    if (ordering is None) != (call.name in ("median", "percentile")):
        raise invalid(_USAGE[call.name])
    several = len(own) == 1 and own[0].kind is TypeKind.ARRAY
    if len(own) != (call.name != "median"):
        raise invalid(_USAGE[call.name])
    node = call.arguments[0 if ordering else -1]
    wanted = [0.5] if call.name == "median" else fractions(node, own[0], _USAGE[call.name])
    counts = counted_values(builder, converted(number(value), DOUBLE))
    descending = ordering is not None and ordering.descending
    write = _discrete if call.name == "percentile_disc" else _continuous
    found = [write(counts, cast(text(repr(fraction)), DOUBLE), descending) for fraction in wanted]
    if several:
        return Value(array_of(DOUBLE), f"CASE WHEN {counts}[-1].upto > 0 THEN [{', '.join(found)}] END")
    return Value(DOUBLE, found[0])


def fractions(node: exp.Expr, value: Value, usage: str) -> list[float]:
    """Return the numbers from 0 to 1 that are written as a literal, or in the array that it is.

    Raises:
        Refusal: They are not; the message is the usage.
    """
    written = [value.literal]
    if value.kind is TypeKind.ARRAY:
        elements = node.expressions if isinstance(node, exp.Anonymous) and str(node.this).lower() == "array" else []
        written = [literal(element).literal for element in elements if isinstance(element, exp.Literal)]
        if len(written) < len(elements) or len(written) > MAX_FRACTIONS:
            raise invalid(usage)
    found = [
        float(one)
        for one in written
        if isinstance(one, int | float | Decimal) and not isinstance(one, bool) and 0 <= one <= 1
    ]
    if len(found) < max(1, len(written)):
        raise invalid(usage)
    return found


def counted_values(builder: PartialsBuilder, value: Value) -> str:
    """Return a list of all values, the least first, each with how often it came, and how many are up to it."""
    sql = guarded(value)
    taken = f"CASE WHEN NOT isnan({sql}) THEN {sql} END" if value.kind in FRACTIONAL else sql
    return builder.add(value.type or DOUBLE, f"list({taken}) FILTER ({sql} IS NOT NULL)", Merge.COUNTS).sql


def _continuous(counts: str, fraction: str, descending: bool) -> str:
    total = f"{counts}[-1].upto"
    position = f"(({total} - 1) * {fraction})"
    low, high = (_at(counts, f"{rounded}({position})", descending) for rounded in ("floor", "ceil"))
    between = f"(ceil({position}) - {position}) * {low} + ({position} - floor({position})) * {high}"
    return f"CASE WHEN {low} = {high} THEN {low} ELSE {between} END"


def _discrete(counts: str, fraction: str, descending: bool) -> str:
    position = f"greatest(ceil({counts}[-1].upto * {fraction}) - 1, 0)"
    return _at(counts, position, descending)


def _at(counts: str, position: str, descending: bool) -> str:
    """Return the value at a position in the order, from 0."""
    index = f"{counts}[-1].upto - 1 - {position}" if descending else position
    return f"list_filter({counts}, lambda __c: __c.upto > {index})[1].value"


def _mode(builder: PartialsBuilder, own: Sequence[Value], value: Value, ordered: bool, descending: bool) -> Value:
    if ordered and own:
        raise invalid(_USAGE["mode"])
    if not ordered and [argument.literal for argument in own] not in ([], [True], [False]):
        raise invalid(_USAGE["mode"])
    if value.kind in FRACTIONAL:
        raise Refusal(f"mode takes values that are equal or not, got {value.type}; cast it to a decimal")
    if not ordered and [argument.literal for argument in own] != [True]:
        return most_frequent(builder, value)
    counts = counted_values(builder, value)
    most = f"list_max(list_transform({counts}, lambda __c: __c.count))"
    found = f"list_filter({counts}, lambda __c: __c.count = {most})[{-1 if descending else 1}].value"
    return Value(value.type or BOOLEAN, found)


def most_frequent(builder: PartialsBuilder, value: Value) -> Value:
    """Write `mode` without an order: of values that came equally often the one that Spark's hash map has first."""
    if value.type is None or value.kind in (TypeKind.DECIMAL, TypeKind.BINARY):
        raise Refusal(f"of values that came equally often Spark may take any {value.type}: {_USAGE['mode']}")
    return builder.add_summary(value.type, guarded(value), SummaryCall("most_frequent", (value.type.kind.value,)))


_USAGE = {
    "median": "median takes one argument",
    "percentile": f"write percentile(a, 0.9), with a number from 0 to 1, or array(...) of at most {MAX_FRACTIONS}",
    "percentile_cont": "write percentile_cont(0.9) within group (order by a), with a number from 0 to 1, or array(...)",
    "percentile_disc": "write percentile_disc(0.9) within group (order by a), with a number from 0 to 1, or array(...)",
    "mode": "write mode(a, true) for the least of them, or mode() within group (order by a desc)",
}
