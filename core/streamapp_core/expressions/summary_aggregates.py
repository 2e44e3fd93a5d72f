"""Aggregates of which a summary of the values is kept: estimates, histograms, bitmaps, the greatest values."""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from streamapp_core.data_types import VARIANT, Column, array_of
from streamapp_core.expressions.aggregate_calls import AggregateCall, counted
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.kernels import XXHASH64
from streamapp_core.expressions.number_literals import MAX_INT, whole
from streamapp_core.expressions.partial_aggregates import PartialsBuilder, SummaryCall
from streamapp_core.expressions.percentiles import MAX_FRACTIONS, fractions
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.sketch_aggregates import SKETCHES
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, cast, one_zero
from streamapp_core.schema import BIGINT, BINARY, DOUBLE, FLOAT, STRING, DataType, TypeKind

SummaryWriter = Callable[[PartialsBuilder, AggregateCall, Sequence[Value]], Value]

OF_NESTED = frozenset({"approx_top_k_combine", "schema_of_variant_agg", "vector_avg", "vector_sum"})
"""Aggregates that look into structs, variants or arrays."""
_MAX_BINS, _MAX_COUNTS, _MAX_ACCURACY, _MAX_KEPT = 1_000, 100_000, 100_000, 100_000
_ERROR, _LEAST_BITS, _MOST_BITS = 0.05, 4, 14
_VECTOR = array_of(FLOAT)
_MOMENTS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ})


def extremes(
    builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value], kept: Value | None, *, greatest: bool
) -> Value:
    """Write `max_by` or `min_by` of several values: those that Spark keeps of equal orders."""
    value, order, most = arguments
    if not whole(most, 1, _MAX_KEPT):
        raise invalid(f"the third argument of {call.name} is a number from 1 to {_MAX_KEPT}")
    assert value.type is not None
    assert order.type is not None
    if order.type.nested:
        raise Refusal(f"{call.name} of several values goes by no {order.type}; take what is inside of it")
    taken = f"{guarded(order)} IS NOT NULL" + (f" AND {guarded(kept)}" if kept else "")
    pair = f"CASE WHEN {taken} THEN {{'value': {guarded(value)}, 'order': {guarded(order)}}} END"
    parameters = (int(str(most.literal)), int(greatest), order.type.kind.value)
    return builder.add_summary(array_of(value.type), pair, SummaryCall("greatest_values", parameters))


def _bitmap(name: str) -> SummaryWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        (argument,) = counted(call, arguments, 1)
        if argument.type != BINARY:
            raise Refusal(f"{call.name} takes bitmaps, which are binary, got {argument.type}")
        return builder.add_summary(BINARY, guarded(argument), SummaryCall(name))

    return write


def _positions(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    (argument,) = counted(call, arguments, 1)
    return builder.add_summary(BINARY, guarded(implied(argument, BIGINT)), SummaryCall("positions_bitmap"))


def _count_min(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    argument, _, _, seed = counted(call, arguments, 4)
    error, confidence = (_double(node) for node in call.arguments[1:3])
    if argument.kind not in INTEGRAL and argument.kind not in (TypeKind.STRING, TypeKind.BINARY):
        raise Refusal(f"{call.name} takes whole numbers, texts or bytes, got {argument.type}")
    if error is None or confidence is None or error <= 0 or not 0 < confidence < 1 or not whole(seed, -MAX_INT):
        raise invalid(
            f"{call.name} takes a value, its relative error and its confidence as doubles (0.01d, 0.99d), and a seed"
        )
    if math.ceil(2 / error) * math.ceil(-math.log(1 - confidence) / math.log(2)) > _MAX_COUNTS:
        raise invalid(f"a sketch of this error and confidence has more than {_MAX_COUNTS} counts")
    value = converted(argument, BIGINT if argument.kind in INTEGRAL else BINARY)
    parameters = (error, confidence, int(str(seed.literal)))
    return builder.add_summary(BINARY, guarded(value), SummaryCall("count_min", parameters))


def _histogram(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    argument, bins = counted(call, arguments, 2)
    if not whole(bins, 2, _MAX_BINS):
        raise invalid(f"{call.name} takes a value, and a number of bins from 2 to {_MAX_BINS}")
    value, data_type = _number_or_moment(call.name, argument)
    entry = DataType(TypeKind.STRUCT, fields=(Column("x", data_type), Column("y", DOUBLE)))
    parameters = (int(str(bins.literal)), data_type.kind.value)
    return builder.add_summary(array_of(entry), guarded(value), SummaryCall("numeric_histogram", parameters))


def _quantiles(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    usage = (
        f"write {call.name}(a, 0.9), with a number from 0 to 1, or array(...) of at most {MAX_FRACTIONS}, and perhaps "
    )
    usage += f"an accuracy from 1 to {_MAX_ACCURACY}"
    if len(arguments) not in (2, 3):
        raise invalid(usage)
    argument, fraction, *accuracy = arguments
    if accuracy and not whole(accuracy[0], 1, _MAX_ACCURACY):
        raise invalid(usage)
    value, data_type = _number_or_moment(call.name, argument)
    wanted = fractions(call.arguments[1], fraction, usage)
    parameters = (data_type.kind.value, int(str(accuracy[0].literal)) if accuracy else 10_000, *wanted)
    found = builder.add_summary(array_of(data_type), guarded(value), SummaryCall("quantiles", parameters))
    return found if fraction.kind is TypeKind.ARRAY else Value(data_type, f"{found.sql}[1]")


def _distinct(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    if len(arguments) not in (1, 2):
        raise invalid(f"{call.name} takes a value, and perhaps a relative error such as 0.05")
    argument, *error = arguments
    written = error[0].literal if error else _ERROR
    if isinstance(written, bool) or not isinstance(written, int | float | Decimal) or written <= 0:
        raise invalid(f"the relative error of {call.name} is a number such as 0.05")
    bits = math.ceil(2 * math.log(1.106 / float(written)) / math.log(2))
    if not _LEAST_BITS <= bits <= _MOST_BITS:
        raise invalid(f"the relative error of {call.name} is a number from 0.009 to 0.39")
    value = guarded(argument)
    known = cast(one_zero(value), argument.type or DOUBLE) if argument.kind in FRACTIONAL else value
    hashed = f"CASE WHEN {value} IS NOT NULL THEN {XXHASH64.over(known)} END"
    return builder.add_summary(BIGINT, hashed, SummaryCall("distinct_estimate", (bits,)))


def _type_of_variants(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    (argument,) = counted(call, arguments, 1)
    if argument.type != VARIANT:
        raise Refusal(f"{call.name} takes variants, got {argument.type}; parse_json makes one of a JSON text")
    return builder.add_summary(STRING, guarded(argument), SummaryCall("type_of_variants"))


def _of_vectors(name: str) -> SummaryWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        (argument,) = counted(call, arguments, 1)
        if argument.type != _VECTOR:
            raise Refusal(f"{call.name} takes {_VECTOR}, got {argument.type}; cast it")
        return builder.add_summary(_VECTOR, guarded(argument), SummaryCall(name))

    return write


def _number_or_moment(name: str, argument: Value) -> tuple[Value, DataType]:
    value = converted(argument, DOUBLE) if argument.type == STRING else argument
    if value.type is None or not (value.kind in INTEGRAL or value.kind in FRACTIONAL or value.kind in _MOMENTS):
        hint = "; cast it to double" if value.kind is TypeKind.DECIMAL else ""
        raise Refusal(f"{name} takes numbers, dates and timestamps, got {value.type}{hint}")
    return value, value.type


def _double(node: exp.Expr) -> float | None:
    """Return the number of a literal that is a double: `0.5d`, `5e-1`."""
    written = node.this if isinstance(node, exp.Cast) and node.to.this is exp.DType.DOUBLE else node
    if not isinstance(written, exp.Literal) or written.is_string or (written is node and "e" not in node.name.lower()):
        return None
    return float(written.name)


SUMMARIES: Mapping[str, SummaryWriter] = {
    "bitmap_construct_agg": _positions,
    "bitmap_or_agg": _bitmap("union_of_bitmaps"),
    "bitmap_and_agg": _bitmap("intersection_of_bitmaps"),
    "count_min_sketch": _count_min,
    "histogram_numeric": _histogram,
    **dict.fromkeys(("percentile_approx", "approx_percentile"), _quantiles),
    "approx_count_distinct": _distinct,
    "schema_of_variant_agg": _type_of_variants,
    "vector_avg": _of_vectors("vector_mean"),
    "vector_sum": _of_vectors("vector_sum"),
    **SKETCHES,
}
