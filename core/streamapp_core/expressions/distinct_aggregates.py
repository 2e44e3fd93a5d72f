"""Aggregates of the values that are different: `count(distinct a, b)`, `sum(distinct a)`, `collect_set(a)`."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.data_types import array_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.conversions import converted, number, wrapped
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.arrays import in_order
from streamapp_core.expressions.partial_aggregates import Merge, PartialsBuilder, SummaryCall
from streamapp_core.expressions.percentiles import counted_values
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.sums_of_decimals import SUM_DIGITS, average_of, sum_type
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, cast, one_zero, try_cast
from streamapp_core.schema import BIGINT, DOUBLE, MAX_PRECISION, DataType, TypeKind

_Writer = Callable[[PartialsBuilder, AggregateCall, Sequence[Value]], Value]


def distinct_values(builder: PartialsBuilder, argument: Value, data_type: DataType) -> Value:
    """Write `collect_set`: each value once, the least first."""
    values = array_of(data_type)
    if data_type.nested:
        kept = builder.add_summary(values, guarded(argument), SummaryCall("distinct_values"))
        return Value(values, in_order(Value(values, f"coalesce({kept.sql}, [])")))
    return Value(values, cast(f"coalesce({_listed(builder, argument)}, [])", values))


def _listed(builder: PartialsBuilder, argument: Value) -> str:
    return f"list_transform({counted_values(builder, argument)}, lambda __c: __c.value)"


def _values(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    argument = _one(call, arguments)
    return distinct_values(builder, argument, argument.type or DOUBLE)


def _count(builder: PartialsBuilder, _: AggregateCall, arguments: Sequence[Value]) -> Value:
    """Write the number of different rows of values without a null."""
    present = " AND ".join(f"{guarded(argument)} IS NOT NULL" for argument in arguments)
    nested = len(arguments) > 1 or (arguments[0].type or DOUBLE).nested
    if len(arguments) > 1:
        value = nested_values.struct_sql([(f"f{place}", guarded(one)) for place, one in enumerate(arguments)])
    else:
        value = guarded(arguments[0])
    if arguments[0].kind in FRACTIONAL and not nested:
        # As text every NaN equals the others.
        value = cast(one_zero(value), "VARCHAR")
    partial = builder.add(BIGINT, f"list(DISTINCT {value}) FILTER ({present})", Merge.UNION)
    return Value(BIGINT, f"coalesce({partial.sql}, 0)")


def _sum(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    value = number(_one(call, arguments))
    return _total(builder, value, sum_type(value.type or DOUBLE))


def _average(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    value = number(_one(call, arguments))
    if value.kind is not TypeKind.DECIMAL:
        value = converted(value, DOUBLE)
    source = value.type or DOUBLE
    count = Value(BIGINT, f"len({_listed(builder, value)})")
    return average_of(_total(builder, value, sum_type(source)), count, source)


def _total(builder: PartialsBuilder, value: Value, target: DataType) -> Value:
    if value.type and value.kind is TypeKind.DECIMAL and value.type.precision + SUM_DIGITS > MAX_PRECISION:
        raise Refusal(f"whether a sum of different values of {value.type} is too large goes by their order; cast them")
    total = f"list_sum({_listed(builder, value)})"
    if value.kind in INTEGRAL:
        return Value(target, wrapped(cast(total, "HUGEINT"), target))
    return Value(target, try_cast(f"TRY({total})", target))


def _one(call: AggregateCall, arguments: Sequence[Value]) -> Value:
    if len(arguments) != 1:
        raise invalid(f"{call.name} takes one argument, got {len(arguments)}")
    return arguments[0]


DISTINCT: Mapping[str, _Writer] = {
    "count": _count,
    "sum": _sum,
    **dict.fromkeys(("avg", "mean"), _average),
    **dict.fromkeys(("collect_list", "array_agg"), _values),
}
"""Aggregates of which `distinct` makes others; `min`, `max` and `collect_set` stay what they are."""
