"""Functions of numbers."""

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions.arithmetic import digits_of, from_digits
from streamapp_core.expressions.conversions import converted, implied, number, widened, wrapped
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, common_number
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, DOUBLE, MAX_PRECISION, DataType, TypeKind

_NUMBER = Accepts.NUMBER
_NAN = "'nan'::DOUBLE"
_INFINITY = "'inf'::DOUBLE"
_MAX_ROUND_DIGITS = 18
_WHOLE_FROM = "1e16"
"""Doubles from here on have no digits after the point."""


def _abs(value: Value) -> Value:
    if value.kind in INTERVALS:
        return Value(value.type, f"TRY(abs({value.sql}))")
    value = number(value)
    data_type = value.type or DOUBLE
    if data_type.kind in INTEGRAL:
        return Value(data_type, wrapped(f"abs({widened(value, data_type)})", data_type))
    return Value(data_type, cast(f"abs({value.sql})", data_type))


def _next_whole(function: str, value: Value) -> Value:
    data_type = value.type or DOUBLE
    if data_type == BIGINT:
        return value
    if data_type.kind is TypeKind.DECIMAL:
        if data_type.scale == 0:
            return value
        target = DataType(TypeKind.DECIMAL, data_type.precision - data_type.scale + 1, 0)
        return Value(target, cast(f"{function}({value.sql})", target))
    return converted(Value(DOUBLE, f"{function}({converted(value, DOUBLE).sql})"), BIGINT)


def _round(value: Value, digits: Value | None = None) -> Value:
    places = digits.literal if digits else 0
    if not isinstance(places, int) or abs(places) > MAX_PRECISION:
        raise invalid(f"the digits of round are a whole number from -{MAX_PRECISION} to {MAX_PRECISION}")
    data_type = value.type or DOUBLE
    if data_type.kind in FRACTIONAL:
        return _round_floating(value, data_type, places)
    if data_type.kind is TypeKind.DECIMAL:
        return _round_decimal(value, data_type, places)
    if places >= 0:
        return value
    return Value(data_type, wrapped(_half_up(widened(value, BIGINT), -places), data_type))


def _round_floating(value: Value, data_type: DataType, places: int) -> Value:
    if not 0 <= places <= _MAX_ROUND_DIGITS:
        raise invalid(f"round of {data_type} takes 0 to {_MAX_ROUND_DIGITS} digits; cast it to bigint or decimal")

    def write(v: str) -> str:
        printed = f"CAST({v} AS VARCHAR)"
        rounded = f"CAST(CAST(TRY_CAST({printed} AS DECIMAL({MAX_PRECISION},{places})) AS VARCHAR) AS DOUBLE)"
        return f"CASE WHEN isfinite({v}) AND abs({v}) < {_WHOLE_FROM} THEN {rounded} ELSE {v} END"

    return Value(data_type, cast(bound([converted(value, DOUBLE)], write), data_type))


def _round_decimal(value: Value, data_type: DataType, places: int) -> Value:
    integral = data_type.precision - data_type.scale + 1
    if places < 0:
        target = DataType(TypeKind.DECIMAL, min(max(integral, 1 - places), MAX_PRECISION), 0)
        return Value(target, from_digits(_half_up(digits_of(value), data_type.scale - places, -places), target))
    scale = min(data_type.scale, places)
    target = DataType(TypeKind.DECIMAL, min(integral + scale, MAX_PRECISION), scale)
    return Value(target, cast(value.sql, target))


def _half_up(whole: str, drop: int, keep: int | None = None) -> str:
    """Round a hugeint half away from zero: drop so many digits, then append `keep` zeros in their place."""
    if drop >= MAX_PRECISION:
        return f"CASE WHEN {whole} IS NULL THEN NULL ELSE 0::HUGEINT END"
    unit = 10**drop
    zeros = 10 ** (drop if keep is None else keep)

    def write(n: str) -> str:
        return f"({n} // {unit} + CASE WHEN abs({n} % {unit}) * 2 >= {unit} THEN sign({n}) ELSE 0 END) * {zeros}"

    return bound([Value(None, f"CAST({whole} AS HUGEINT)")], write)


def _guarded(guard: str, otherwise: str, function: str, value: Value) -> Value:
    sql = bound([value], lambda v: f"CASE WHEN {guard.format(v)} THEN {otherwise} ELSE {function}({v}) END")
    return Value(DOUBLE, sql)


def _power(base: Value, exponent: Value) -> Value:
    def write(b: str, e: str) -> str:
        odd_negative_zero = f"CAST({b} AS VARCHAR) = '-0.0' AND abs({e} % 2) = 1"
        return (
            f"CASE WHEN {b} IS NULL THEN NULL WHEN isnan({e}) OR (isinf({e}) AND abs({b}) = 1) THEN {_NAN} "
            f"WHEN {b} = 0 AND {e} < 0 THEN CASE WHEN {odd_negative_zero} THEN -({_INFINITY}) ELSE {_INFINITY} END "
            f"ELSE pow({b}, {e}) END"
        )

    return Value(DOUBLE, bound([base, exponent], write))


def _pmod(dividend: Value, divisor: Value) -> Value:
    common = common_number(dividend.type or DOUBLE, divisor.type or DOUBLE)
    if common.kind is TypeKind.DECIMAL:
        raise Refusal("pmod takes whole numbers or doubles, not decimals; cast them")
    whole = common.kind in INTEGRAL
    wide = "HUGEINT"

    def write(a: str, n: str) -> str:
        rest = f"({a} % {n})"
        again = f"{rest} + {n}"
        if whole:
            again = cast(wrapped(again, common), wide)
        return f"CASE WHEN {rest} < 0 THEN ({again}) % {n} ELSE {rest} END"

    operands = [converted(value, common) for value in (dividend, divisor)]
    if whole:
        operands = [Value(common, cast(value.sql, wide)) for value in operands]
    return Value(common, cast(bound(operands, write), common))


def _sign(value: Value) -> Value:
    value = Value(DOUBLE, cast(value.sql, DOUBLE)) if value.kind in INTERVALS else implied(value, DOUBLE)
    sql = bound(
        [value],
        lambda v: (
            f"CASE WHEN isnan({v}) OR {v} = 0 THEN {v} WHEN {v} > 0 THEN 1::DOUBLE WHEN {v} < 0 THEN -1::DOUBLE END"
        ),
    )
    return Value(DOUBLE, sql)


def _of_double(name: str, doc: str, guard: str, otherwise: str, *aliases: str) -> Function:
    return Function(
        name=name,
        aliases=aliases,
        parameters=(Parameter("number", Accepts.DOUBLE),),
        result="double",
        doc=doc,
        write=lambda value: _guarded(guard, otherwise, name, value),
    )


NUMBERS = (
    Function(
        name="abs",
        parameters=(Parameter("number", Accepts.ANY),),
        result="the type of the number",
        doc="The number or interval without its sign.",
        write=_abs,
    ),
    Function(
        name="ceil",
        aliases=("ceiling",),
        parameters=(Parameter("number", _NUMBER),),
        result="bigint, or a decimal without digits after the point",
        doc="The least whole number that is not below.",
        write=lambda value: _next_whole("ceil", value),
    ),
    Function(
        name="floor",
        parameters=(Parameter("number", _NUMBER),),
        result="bigint, or a decimal without digits after the point",
        doc="The greatest whole number that is not above.",
        write=lambda value: _next_whole("floor", value),
    ),
    Function(
        name="round",
        parameters=(Parameter("number", _NUMBER), Parameter("digits", Accepts.WHOLE_LITERAL)),
        optional=1,
        result="the type of the number; a decimal with fewer digits",
        doc="Rounded half up to so many digits after the point (0); below 0 (not for floating numbers) before it.",
        write=_round,
    ),
    Function(
        name="sign",
        aliases=("signum",),
        parameters=(Parameter("number", Accepts.ANY),),
        result="double",
        doc="-1, 0 or 1 by the sign of the number or interval.",
        write=_sign,
    ),
    Function(
        name="pmod",
        parameters=(Parameter("number", _NUMBER), Parameter("divisor", _NUMBER)),
        result="the common type",
        doc="The remainder, not below 0 for a divisor above 0; no decimals.",
        write=_pmod,
    ),
    _of_double("sqrt", "The square root; NaN below 0.", "{0} < 0", _NAN),
    _of_double("exp", "e to the power of the number.", "false", _NAN),
    _of_double("ln", "The natural logarithm; null from 0 down.", "{0} <= 0", "NULL"),
    _of_double("log10", "The logarithm to base 10; null from 0 down.", "{0} <= 0", "NULL"),
    Function(
        name="power",
        aliases=("pow",),
        parameters=(Parameter("base", Accepts.DOUBLE), Parameter("exponent", Accepts.DOUBLE)),
        result="double",
        doc="The base to the power of the exponent.",
        write=_power,
    ),
)
"""`exp`, `ln`, `log10` and `power` may differ from Spark's in the last of a double's 53 bits."""
