"""Aggregates of which a sketch of Apache DataSketches is kept, of values or of sketches."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.expressions.aggregate_calls import AggregateCall, counted
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.tuple_functions import (
    LEAST_LOGARITHM,
    MOST_LOGARITHM,
    TUPLE_MODES,
    TUPLE_NUMBERS,
    USUAL_LOGARITHM,
    tuple_mode,
)
from streamapp_core.expressions.number_literals import number_or, whole
from streamapp_core.expressions.partial_aggregates import PartialsBuilder, SummaryCall
from streamapp_core.expressions.select import guarded
from streamapp_core.expressions.top_items import item_sketch_union
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import BIGINT, BINARY, INT, STRING, DataType, TypeKind

SketchWriter = Callable[[PartialsBuilder, AggregateCall, Sequence[Value]], Value]

_LOGARITHMS, _LOGARITHMS_OF_REGISTERS = (LEAST_LOGARITHM, MOST_LOGARITHM), (4, 21)
_HASHED = frozenset({TypeKind.INT, TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.STRING, TypeKind.BINARY})

_ACCURACY, _ACCURACIES = 200, (8, 65_535)
_QUANTILES = {
    "bigint": (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT),
    "float": (TypeKind.FLOAT,),
    "double": (TypeKind.FLOAT, TypeKind.DOUBLE),
}
"""The types of values of each kind of sketches of quantiles: the last one is that of the sketch."""


def _theta_of_values(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    logarithm = _logarithm(call, arguments)
    value = arguments[0]
    if value.type is None or value.kind not in _HASHED:
        raise Refusal(f"{call.name} takes int, bigint, float, double, string or binary, got {value.type}")
    return builder.add_summary(
        BINARY, guarded(value), SummaryCall("theta_of_values", (logarithm, value.type.kind.value))
    )


def _theta_union(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    logarithm = _logarithm(call, arguments)
    return builder.add_summary(BINARY, _sketch(call, arguments[0]), SummaryCall("theta_union", (logarithm,)))


def _theta_intersection(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    (argument,) = counted(call, arguments, 1)
    return builder.add_summary(BINARY, _sketch(call, argument), SummaryCall("theta_intersection"))


def _hll_of_values(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    value = arguments[0]
    if len(arguments) > 2 or (len(arguments) > 1 and not whole(arguments[1], *_LOGARITHMS_OF_REGISTERS)):  # noqa: PLR2004
        raise invalid(
            f"{call.name} takes a value, and perhaps a number from 4 to 21: 2 to its power of registers are kept"
        )
    if value.type not in (INT, BIGINT, STRING):
        hint = "; take hex of it" if value.type == BINARY else ""
        raise Refusal(f"{call.name} takes int, bigint or string, got {value.type}{hint}")
    parameters = (number_or(arguments, 1, USUAL_LOGARITHM),)
    return builder.add_summary(BINARY, guarded(value), SummaryCall("hll_of_values", parameters))


def _hll_union(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
    allowed = arguments[1].literal if len(arguments) > 1 else False
    if len(arguments) > 2 or not isinstance(allowed, bool):  # noqa: PLR2004
        raise invalid(f"{call.name} takes a sketch, and perhaps true if the sketches may be of different sizes")
    return builder.add_summary(BINARY, _sketch(call, arguments[0]), SummaryCall("hll_union", (int(allowed),)))


def _kll_of_values(kind: str) -> SketchWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        k = _accuracy(call, arguments, _ACCURACY)
        value, taken = arguments[0], _QUANTILES[kind]
        if value.type is None or value.kind not in taken:
            raise Refusal(f"{call.name} takes {', '.join(each.value for each in taken)}, got {value.type}")
        numbers = converted(value, DataType(taken[-1]))
        return builder.add_summary(BINARY, guarded(numbers), SummaryCall("kll_of_values", (kind, k)))

    return write


def _kll_merge(kind: str) -> SketchWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        k = _accuracy(call, arguments, 0)
        return builder.add_summary(BINARY, _sketch(call, arguments[0]), SummaryCall("kll_merge", (kind, k)))

    return write


def _tuples_of_values(kind: str) -> SketchWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        if not 2 <= len(arguments) <= 4:  # noqa: PLR2004
            raise invalid(f"{call.name} takes a key, a number, perhaps a logarithm from 4 to 16, and perhaps a mode")
        key, number, *_ = arguments
        logarithm, mode = _size_and_mode(call, arguments[2:])
        if key.type is None or key.kind not in _HASHED:
            raise Refusal(f"the key of {call.name} is int, bigint, float, double, string or binary, got {key.type}")
        summary = implied(number, TUPLE_NUMBERS[kind])
        names = guarded(key), guarded(summary)
        pair = f"CASE WHEN {names[0]} IS NOT NULL AND {names[1]} IS NOT NULL"
        pair += f" THEN {{'key': {names[0]}, 'number': {names[1]}}} END"
        return builder.add_summary(
            BINARY, pair, SummaryCall("tuples_of_values", (kind, mode, logarithm, key.type.kind.value))
        )

    return write


def _tuple_union(kind: str) -> SketchWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        logarithm, mode = _size_and_mode(call, arguments[1:])
        return builder.add_summary(
            BINARY, _sketch(call, arguments[0]), SummaryCall("tuple_union", (kind, mode, logarithm))
        )

    return write


def _tuple_intersection(kind: str) -> SketchWriter:
    def write(builder: PartialsBuilder, call: AggregateCall, arguments: Sequence[Value]) -> Value:
        if len(arguments) > 2:  # noqa: PLR2004
            raise invalid(f"{call.name} takes a sketch, and perhaps a mode: {', '.join(TUPLE_MODES)}")
        mode = tuple_mode(call.name, arguments[1] if len(arguments) > 1 else None)
        return builder.add_summary(BINARY, _sketch(call, arguments[0]), SummaryCall("tuple_intersection", (kind, mode)))

    return write


def _size_and_mode(call: AggregateCall, arguments: Sequence[Value]) -> tuple[int, str]:
    if len(arguments) > 2 or (arguments and not whole(arguments[0], *_LOGARITHMS)):  # noqa: PLR2004
        raise invalid(f"{call.name} keeps 2 to the power of a number from 4 to 16 of hashes; behind it is a mode")
    mode = tuple_mode(call.name, arguments[1] if len(arguments) > 1 else None)
    return number_or(arguments, 0, USUAL_LOGARITHM), mode


def _accuracy(call: AggregateCall, arguments: Sequence[Value], default: int) -> int:
    if len(arguments) > 2 or (len(arguments) > 1 and not whole(arguments[1], *_ACCURACIES)):  # noqa: PLR2004
        least, most = _ACCURACIES
        raise invalid(f"{call.name} takes a value, and perhaps a number from {least} to {most}: its accuracy")
    return number_or(arguments, 1, default)


def _sketch(call: AggregateCall, value: Value) -> str:
    if value.type != BINARY:
        raise Refusal(f"{call.name} takes sketches, which are binary, got {value.type}")
    return guarded(value)


def _logarithm(call: AggregateCall, arguments: Sequence[Value]) -> int:
    """Return the logarithm of the number of hashes that are kept."""
    if len(arguments) not in (1, 2) or (len(arguments) > 1 and not whole(arguments[1], *_LOGARITHMS)):
        raise invalid(
            f"{call.name} takes a value, and perhaps a number from 4 to 16: 2 to its power of hashes are kept"
        )
    return number_or(arguments, 1, USUAL_LOGARITHM)


SKETCHES: Mapping[str, SketchWriter] = {
    "theta_sketch_agg": _theta_of_values,
    "theta_union_agg": _theta_union,
    "theta_intersection_agg": _theta_intersection,
    "approx_top_k_combine": item_sketch_union,
    "hll_sketch_agg": _hll_of_values,
    "hll_union_agg": _hll_union,
    **{f"tuple_sketch_agg_{kind}": _tuples_of_values(kind) for kind in TUPLE_NUMBERS},
    **{f"tuple_union_agg_{kind}": _tuple_union(kind) for kind in TUPLE_NUMBERS},
    **{f"tuple_intersection_agg_{kind}": _tuple_intersection(kind) for kind in TUPLE_NUMBERS},
    **{f"kll_sketch_agg_{kind}": _kll_of_values(kind) for kind in _QUANTILES},
    **{f"kll_merge_agg_{kind}": _kll_merge(kind) for kind in _QUANTILES},
}
