"""The writers of aggregates: over partial results, which are added to those of a list."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.data_types import unordered
from streamapp_core.expressions import comparisons, nested_values
from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.conversions import converted, number, wrapped
from streamapp_core.expressions.distinct_aggregates import DISTINCT, distinct_values
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.interval_aggregates import is_of_interval, of_interval
from streamapp_core.expressions.ordered_aggregates import BY_ORDER, COLLECTED, ENDS, EXTREMES, chosen, collected
from streamapp_core.expressions.partial_aggregates import Merge, PartialsBuilder, PlainAggregate
from streamapp_core.expressions.percentiles import PERCENTILES, percentile
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.statistics import STATISTICS, both, checked_sum, statistic
from streamapp_core.expressions.summary_aggregates import OF_NESTED, SUMMARIES
from streamapp_core.expressions.sums_of_decimals import SUM_DIGITS, average_of, sum_type
from streamapp_core.expressions.type_rules import INTEGRAL
from streamapp_core.expressions.typed_sql import Value, cast, try_cast
from streamapp_core.schema import BIGINT, BOOLEAN, DOUBLE, INT, MAX_PRECISION, DataType, TypeKind

_ORDERED = (TypeKind.INT, TypeKind.BIGINT, TypeKind.DATE, TypeKind.TIMESTAMP)
"""Values that all systems order alike."""
_INSIDE = {
    TypeKind.ARRAY: "an element or the result of `aggregate` or `transform`",
    TypeKind.VARIANT: "variant_get(..., '$.a', 'int')",
    **dict.fromkeys((TypeKind.MAP, TypeKind.STRUCT), "a field"),
}
"""What of a value is taken instead of it."""
_OF_ANY = frozenset({"count", *OF_NESTED, *ENDS, *COLLECTED, *EXTREMES})
"""Aggregates of values of any type, but where these are compared."""
_COMPARED = frozenset({"min", "max", "collect_set"})
_ROW = Value(INT, "1", 1, simple=True)


def written(
    builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], condition: Value | None
) -> Value:
    """Write an aggregate (see `AggregateWriter`).

    Raises:
        Refusal: There is no such aggregate of values of these types.
    """
    if is_of_interval(call, arguments):
        return of_interval(lambda call, numbers: written(builder, call, numbers, condition), call, arguments[0])
    kept = None if condition is None else comparisons.condition(condition)
    _check_types(call, arguments)
    if call.name in BY_ORDER and not call.limit and not (call.distinct and call.name in DISTINCT):
        return BY_ORDER[call.name](builder, call, arguments, kept)
    return _writer(call)(builder, call, _filtered(call, arguments, kept))


def _writer(call: AggregateCall) -> Callable[[PartialsBuilder, AggregateCall, Sequence[Value]], Value]:
    if call.name in PERCENTILES:
        return percentile
    if call.ordering is not None:
        raise invalid(f"{call.name} has no `within group`")
    if call.name in SUMMARIES:
        return SUMMARIES[call.name]
    if call.name in STATISTICS:
        return lambda builder, call, arguments: statistic(builder, call.name, arguments)
    if call.name == "count" and not call.distinct:
        return lambda builder, _, arguments: count_of(builder, arguments)
    if call.name in _PAIRED:
        return lambda builder, call, arguments: _PAIRED[call.name](builder, *_exactly(2, call.name, arguments))
    return _single


def _single(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    if call.distinct and call.name in DISTINCT:
        return DISTINCT[call.name](builder, call, arguments)
    (argument,) = _exactly(1, call.name, arguments)
    if call.limit:
        return collected(builder, argument, call.limit, call.separator)
    return _WRITERS[call.name](builder, argument, argument.type or DOUBLE)


def _filtered(call: AggregateCall, arguments: Sequence[Value], kept: Value | None) -> Sequence[Value]:
    """Return the arguments, null in the rows that a filter leaves out: nulls count for nothing."""
    if call.name == "count" and not arguments:
        arguments = [_ROW]
    if kept is None:
        return arguments
    values = _places_of_values(call, arguments)
    return [_if(kept, argument) if at in values else argument for at, argument in enumerate(arguments)]


def _places_of_values(call: AggregateCall, arguments: Sequence[Value]) -> range:
    """Return which arguments are taken of each row; the others are literals."""
    places = range(len(arguments))
    if call.ordering:
        return places[-1:]
    return places[:1] if call.name in PERCENTILES or call.name in SUMMARIES else places


def _check_types(call: AggregateCall, arguments: Sequence[Value]) -> None:
    for argument in (arguments[place] for place in _places_of_values(call, arguments)):
        if argument.type is None:
            raise Refusal(f"{call.name} takes a value with a type, got null")
        if argument.kind in _INSIDE and call.name not in _OF_ANY | _COMPARED:
            inside = _INSIDE[argument.kind]
            raise Refusal(f"{call.name} takes no {argument.type}; take what is inside of it: {inside}")
    _check_compared(call, arguments)


def _check_compared(call: AggregateCall, arguments: Sequence[Value]) -> None:
    """Refuse values that have no order, or are not equal or different, where that counts."""
    compared = arguments if call.distinct or call.name in _COMPARED else arguments[1:2]
    for argument in compared if call.distinct or call.name in _COMPARED | EXTREMES else ():
        if argument.type and (kind := unordered(argument.type)):
            inside = f"; take what is inside of it: {_INSIDE[kind]}" if kind in _INSIDE else ""
            raise Refusal(f"{call.name} takes no {argument.type} there, as {kind}s can't be compared{inside}")


def _exactly(count: int, name: str, arguments: Sequence[Value]) -> Sequence[Value]:
    if len(arguments) != count:
        raise invalid(f"{name} takes {'one argument' if count == 1 else 'two arguments'}, got {len(arguments)}")
    return arguments


def _if(condition: Value, value: Value) -> Value:
    return Value(value.type, f"CASE WHEN {condition.sql} THEN {value.sql} END")


def count_of(builder: PartialsBuilder, arguments: Sequence[Value]) -> Value:
    """Write `count(argument, ...)`: the rows in which none is null."""
    argument = arguments[0]
    if argument == _ROW:
        return _count(builder, "count(*)", PlainAggregate("count", None))
    if len(arguments) == 1:
        return _count(builder, f"count({guarded(argument)})", _plain("count", argument))
    present = " AND ".join(f"{guarded(value)} IS NOT NULL" for value in arguments)
    return _count(builder, f"count(CASE WHEN {present} THEN 1 END)", None)


def _count(builder: PartialsBuilder, sql: str, plain: PlainAggregate | None) -> Value:
    return builder.add(BIGINT, sql, Merge.SUM, plain=plain)


def _count_if(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    return count_of(builder, [_if(comparisons.condition(argument), _ROW)])


def _sum(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    value = number(argument)
    if value.kind is TypeKind.DECIMAL and (value.type or DOUBLE).precision + SUM_DIGITS > MAX_PRECISION:
        return checked_sum(builder, value)
    target = sum_type(value.type or DOUBLE)
    plain = _plain("sum", value) if value.kind in INTEGRAL else None
    return builder.add(target, _sum_sql(Value(value.type, guarded(value)), target), Merge.SUM, plain=plain)


def _try_sum(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    value = number(argument)
    return checked_sum(builder, value) if value.kind in INTEGRAL else _sum(builder, value, value.type or DOUBLE)


def _average(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    value = number(argument)
    source = value.type or DOUBLE
    count = count_of(builder, [argument])
    if source.kind is not TypeKind.DECIMAL:
        total = _sum(builder, converted(value, DOUBLE), DOUBLE)
        return Value(DOUBLE, f"({total.sql} / {count.sql})")
    return average_of(_sum(builder, value, source), count, source)


def _least(builder: PartialsBuilder, argument: Value, data_type: DataType) -> Value:
    if data_type.nested:
        return _extreme_of_nested(builder, argument, data_type, Merge.MIN)
    plain = _plain("min", argument) if data_type.kind in _ORDERED else None
    return builder.add(data_type, f"min({guarded(argument)})", Merge.MIN, plain=plain)


def _greatest(builder: PartialsBuilder, argument: Value, data_type: DataType) -> Value:
    if data_type.nested:
        return _extreme_of_nested(builder, argument, data_type, Merge.MAX)
    plain = _plain("max", argument) if data_type.kind in _ORDERED else None
    return builder.add(data_type, f"max({guarded(argument)})", Merge.MAX, plain=plain)


def _extreme_of_nested(builder: PartialsBuilder, argument: Value, data_type: DataType, merge: Merge) -> Value:
    value = guarded(argument)
    order = nested_values.order_key(Value(data_type, value, simple=True))
    sql = chosen(Value(data_type, value), order, [f"{value} IS NOT NULL"], greatest=merge is Merge.MAX)
    return builder.add(data_type, sql, merge)


def _all_true(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    return _least(builder, comparisons.condition(argument), BOOLEAN)


def _any_true(builder: PartialsBuilder, argument: Value, _: DataType) -> Value:
    return _greatest(builder, comparisons.condition(argument), BOOLEAN)


def _bits(merge: Merge) -> Callable[[PartialsBuilder, Value, DataType], Value]:
    def write(builder: PartialsBuilder, argument: Value, data_type: DataType) -> Value:
        if data_type.kind not in INTEGRAL:
            raise Refusal(f"{merge} takes whole numbers, got {data_type}")
        return builder.add(data_type, f"{merge}({guarded(argument)})", merge)

    return write


def _numbers(y: Value, x: Value) -> tuple[Value, Value]:
    return number(y), number(x)


def _pairs(builder: PartialsBuilder, y: Value, x: Value) -> Value:
    return count_of(builder, _numbers(y, x))


def _average_x(builder: PartialsBuilder, y: Value, x: Value) -> Value:
    y, x = _numbers(y, x)
    return _average(builder, both(x, y), x.type or DOUBLE)


def _average_y(builder: PartialsBuilder, y: Value, x: Value) -> Value:
    return _average_x(builder, x, y)


def _plain(function: str, argument: Value) -> PlainAggregate | None:
    return PlainAggregate(function, argument.column) if argument.column is not None else None


def _sum_sql(value: Value, target: DataType) -> str:
    if target == BIGINT:
        return wrapped(f"CAST(sum({value.sql}) AS HUGEINT)", target)
    if target.kind is TypeKind.DECIMAL:
        return try_cast(f"sum({value.sql})", target)
    return f"sum({cast(value.sql, DOUBLE)})"


_PAIRED: Mapping[str, Callable[[PartialsBuilder, Value, Value], Value]] = {
    "regr_count": _pairs,
    "regr_avgx": _average_x,
    "regr_avgy": _average_y,
}
_WRITERS: Mapping[str, Callable[[PartialsBuilder, Value, DataType], Value]] = {
    "count_if": _count_if,
    "sum": _sum,
    "try_sum": _try_sum,
    **dict.fromkeys(("avg", "mean", "try_avg"), _average),
    "min": _least,
    "max": _greatest,
    **dict.fromkeys(("bool_and", "every"), _all_true),
    **dict.fromkeys(("bool_or", "any", "some"), _any_true),
    "collect_set": distinct_values,
    "bit_and": _bits(Merge.BIT_AND),
    "bit_or": _bits(Merge.BIT_OR),
    "bit_xor": _bits(Merge.BIT_XOR),
}
