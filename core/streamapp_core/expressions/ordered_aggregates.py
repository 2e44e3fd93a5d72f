"""Aggregates to which the order of rows matters: by event time, then by arrival."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from streamapp_core.data_types import array_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.partial_aggregates import ARRIVAL_COLUMN, Merge, PartialsBuilder
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.summary_aggregates import extremes
from streamapp_core.expressions.top_items import item_sketch, top_items
from streamapp_core.expressions.type_rules import FRACTIONAL
from streamapp_core.expressions.typed_sql import Value, cast, quoted, text
from streamapp_core.schema import BINARY, DOUBLE, EVENT_TIME_COLUMN, STRING

_BEGINNING = -(2**63)
_TIME = f"coalesce({quoted(EVENT_TIME_COLUMN)}, {_BEGINNING})"
_ARRIVAL = quoted(ARRIVAL_COLUMN)
_BY_TIME = f"{{'time': {_TIME}, 'arrival': {_ARRIVAL}}}"

OrderedWriter = Callable[[PartialsBuilder, AggregateCall, Sequence[Value], Value | None], Value]


def _end(
    merge: Merge, builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None
) -> Value:
    """Write `first`, `last` or `any_value`."""
    if len(arguments) != 1 or call.ordering is not None:
        raise invalid(f"{call.name} takes a value, and perhaps true to leave nulls out")
    (argument,) = arguments
    value = guarded(argument)
    conditions = ([guarded(kept)] if kept else []) + ([f"{value} IS NOT NULL"] if call.ignores_nulls else [])
    pair = Value(argument.type, f"{{'time': {_TIME}, 'value': {value}}}")
    sql = chosen(pair, _BY_TIME, conditions, greatest=merge is Merge.LAST)
    return builder.add(argument.type or DOUBLE, sql, merge)


def chosen(value: Value, order: str, conditions: Sequence[str], *, greatest: bool) -> str:
    """Write the value of the row with the least or greatest order: one of the type of `value`, perhaps with others."""
    if value.type and value.type.kinds & FRACTIONAL:
        # DuckDB's faster functions turn -0.0 into 0.0.
        return f"(list({value.sql} ORDER BY {order} {'DESC' if greatest else 'ASC'}){_filter(conditions)})[1]"
    return f"{'arg_max' if greatest else 'arg_min'}({value.sql}, {order}){_filter(conditions)}"


def _extreme(
    merge: Merge, builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None
) -> Value:
    """Write `max_by` or `min_by`: of equal orders the value that came last."""
    if len(arguments) not in (2, 3) or call.ordering is not None:
        raise invalid(f"{call.name} takes a value and what orders it, got {len(arguments)} arguments")
    if len(arguments) > 2:  # noqa: PLR2004
        return extremes(builder, call, arguments, kept, greatest=merge is Merge.GREATEST_BY)
    value, order = (guarded(argument) for argument in arguments)
    key = nested_values.order_key(Value(arguments[1].type, order, simple=True))
    conditions = ([guarded(kept)] if kept else []) + [f"{order} IS NOT NULL"]
    greatest = merge is Merge.GREATEST_BY
    sign = "" if greatest else "~"
    pair = Value(arguments[0].type, f"{{'order': {order}, 'time': {_TIME}, 'value': {value}}}")
    by = f"{{'order': {key}, 'time': {sign}{_TIME}, 'arrival': {sign}{_ARRIVAL}}}"
    sql = chosen(pair, by, conditions, greatest=greatest)
    return builder.add(arguments[0].type or DOUBLE, sql, merge, order=arguments[1].type)


def _joined(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None) -> Value:
    """Write `listagg`."""
    own = arguments[: len(arguments) - (call.ordering is not None)]
    if len(own) not in (1, 2):
        raise invalid(f"{call.name} takes a value, and perhaps a separator")
    argument = own[0]
    separator = own[1].literal if len(own) > 1 else ""
    if not isinstance(separator, str):
        raise invalid(f"the separator of {call.name} must be a text literal")
    if argument.type == BINARY:
        raise Refusal(f"{call.name} takes texts, got binary; cast it")
    if call.ordering is None and call.distinct:
        raise invalid(f"{call.name}(distinct a) has no order: write {call.name}(distinct a) within group (order by a)")
    if call.ordering is not None and (arguments[-1] != argument or argument.type != STRING):
        raise invalid(f"{call.name} takes within group (order by a) with the text a that it joins")
    taken = converted(argument, STRING)
    conditions = ([guarded(kept)] if kept else []) + [f"{guarded(taken)} IS NOT NULL"]
    value = f"{{'time': {_TIME}, 'value': {guarded(taken)}}}"
    sql = f"list({value} ORDER BY {_TIME}, {_ARRIVAL}){_filter(conditions)}"
    values = builder.add(STRING, sql, Merge.COLLECT, limit=0).sql
    if call.distinct:
        values = f"list_distinct({values})"
    if call.ordering is not None:
        values = f"list_sort({values}, '{'DESC' if call.ordering.descending else 'ASC'}')"
    return Value(STRING, f"array_to_string({values}, {text(separator)})")


def _all(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None) -> Value:
    """Write `collect_list`."""
    if len(arguments) != 1 or call.ordering is not None:
        raise invalid(f"{call.name} takes one argument")
    (argument,) = arguments
    value = guarded(argument)
    conditions = ([guarded(kept)] if kept else []) + [f"{value} IS NOT NULL"]
    pairs = f"list({{'time': {_TIME}, 'value': {value}}} ORDER BY {_TIME}, {_ARRIVAL}){_filter(conditions)}"
    data_type = array_of(argument.type or DOUBLE)
    values = builder.add(data_type.element, pairs, Merge.COLLECT, limit=0)
    return Value(data_type, cast(f"coalesce({values.sql}, [])", data_type))


def collected(builder: PartialsBuilder, argument: Value, limit: int, separator: str) -> Value:
    """Write the first values by event time, joined as texts."""
    argument = converted(argument, STRING)
    value = guarded(argument)
    pair = f"{{'time': {_TIME}, 'value': {value}}}"
    sql = f"arg_min({pair}, {_BY_TIME}, {limit}) FILTER ({value} IS NOT NULL)"
    values = builder.add(STRING, sql, Merge.COLLECT, limit=limit)
    return Value(STRING, f"coalesce(array_to_string({values.sql}, {text(separator)}), '')")


def _filter(conditions: Sequence[str]) -> str:
    return f" FILTER ({' AND '.join(conditions)})" if conditions else ""


_FIRSTS, _LASTS = ("first", "first_value", "any_value"), ("last", "last_value")
ENDS = frozenset(_FIRSTS + _LASTS)
COLLECTED = frozenset({"collect_list", "array_agg"})
EXTREMES = frozenset({"max_by", "min_by"})
BY_ORDER: Mapping[str, OrderedWriter] = {
    **dict.fromkeys(_FIRSTS, partial(_end, Merge.FIRST)),
    **dict.fromkeys(_LASTS, partial(_end, Merge.LAST)),
    "max_by": partial(_extreme, Merge.GREATEST_BY),
    "min_by": partial(_extreme, Merge.LEAST_BY),
    **dict.fromkeys(("listagg", "string_agg"), _joined),
    **dict.fromkeys(COLLECTED, _all),
    "approx_top_k": top_items,
    "approx_top_k_accumulate": item_sketch,
}
