"""Functions that round numbers: to whole ones, or to so many digits after or before the point."""

from collections.abc import Callable
from functools import partial

from streamapp_core.expressions.arithmetic import digits_of, from_digits
from streamapp_core.expressions.conversions import converted, number, widened, wrapped
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import HALF_EVEN, HALF_UP, Kernel
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, as_decimal
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, DOUBLE, INT, MAX_PRECISION, DataType, TypeKind

_NUMBER = Parameter("number", Accepts.NUMBER)
_DIGITS = Parameter("digits", Accepts.WHOLE_LITERAL)
_MAX_ROUND_DIGITS = 18
_WHOLE_FROM = "1e16"
"""Doubles from here on have no digits after the point."""
_DECIMALS = {TypeKind.FLOAT: (14, 7), TypeKind.DOUBLE: (30, 15), TypeKind.STRING: (38, 18), None: (38, 18)}

_Unit = Callable[[str, int], str]
"""Writes how much is added to the quotient of a hugeint and a unit, which is rounded towards zero."""


def _half_up(n: str, unit: int) -> str:
    return f"CASE WHEN abs({n} % {unit}) * 2 >= {unit} THEN sign({n}) ELSE 0 END"


def _half_even(n: str, unit: int) -> str:
    twice, odd = f"abs({n} % {unit}) * 2", f"({n} // {unit}) % 2 <> 0"
    return f"CASE WHEN {twice} > {unit} OR ({twice} = {unit} AND {odd}) THEN sign({n}) ELSE 0 END"


def _upwards(n: str, unit: int) -> str:
    return f"CASE WHEN {n} % {unit} > 0 THEN 1 ELSE 0 END"


def _downwards(n: str, unit: int) -> str:
    return f"CASE WHEN {n} % {unit} < 0 THEN -1 ELSE 0 END"


def decimal_of(value: Value) -> Value:
    """Cast a value to the decimal that Spark takes for its type, where a function takes decimals only.

    Raises:
        Refusal: It is no number or text.
    """
    if value.kind in _DECIMALS:
        return converted(value, DataType(TypeKind.DECIMAL, *_DECIMALS[value.kind]))
    if value.type is None or value.kind not in (*INTEGRAL, TypeKind.DECIMAL):
        raise Refusal(f"expected a number, got {value.type}")
    return converted(value, as_decimal(value.type))


def _next_whole(function: str, value: Value, digits: Value | None = None) -> Value:
    """Write `ceil` or `floor`; with digits the number is a decimal first."""
    if digits is not None:
        decimal = decimal_of(value)
        mode = _upwards if function == "ceil" else _downwards
        return _round_decimal(mode, decimal, decimal.type or DOUBLE, _places(function, digits))
    value = number(value)
    data_type = value.type or DOUBLE
    if data_type == BIGINT:
        return value
    if data_type.kind is TypeKind.DECIMAL:
        if data_type.scale == 0:
            return value
        target = DataType(TypeKind.DECIMAL, data_type.precision - data_type.scale + 1, 0)
        return Value(target, cast(f"{function}({value.sql})", target))
    return converted(Value(DOUBLE, f"{function}({converted(value, DOUBLE).sql})"), BIGINT)


def _places(function: str, digits: Value | None) -> int:
    places = digits.literal if digits else 0
    if not isinstance(places, int) or abs(places) > MAX_PRECISION:
        raise invalid(f"the digits of {function} are a whole number from -{MAX_PRECISION} to {MAX_PRECISION}")
    return places


def _round(function: str, value: Value, digits: Value | None = None) -> Value:
    """Write `round`, or `bround`."""
    places = _places(function, digits)
    mode = _half_up if function == "round" else _half_even
    data_type = value.type or DOUBLE
    if data_type.kind in FRACTIONAL:
        write = _round_floating if function == "round" else partial(_rounded_by, HALF_EVEN)
        return write(value, data_type, places)
    if data_type.kind is TypeKind.DECIMAL:
        return _round_decimal(mode, value, data_type, places)
    if places >= 0:
        return value
    return Value(data_type, wrapped(_rounded(mode, widened(value, BIGINT), -places), data_type))


def _round_floating(value: Value, data_type: DataType, places: int) -> Value:
    if not 0 <= places <= _MAX_ROUND_DIGITS:
        return _rounded_by(HALF_UP, value, data_type, places)

    def write(v: str) -> str:
        printed = f"CAST({v} AS VARCHAR)"
        rounded = f"CAST(CAST(TRY_CAST({printed} AS DECIMAL({MAX_PRECISION},{places})) AS VARCHAR) AS DOUBLE)"
        return f"CASE WHEN isfinite({v}) AND abs({v}) < {_WHOLE_FROM} THEN {rounded} ELSE {v} END"

    return Value(data_type, cast(bound([converted(value, DOUBLE)], write), data_type))


def _rounded_by(kernel: Kernel, value: Value, data_type: DataType, places: int) -> Value:
    return Value(data_type, cast(kernel.over(converted(value, DOUBLE).sql, cast(str(places), INT)), data_type))


def _round_decimal(mode: _Unit, value: Value, data_type: DataType, places: int) -> Value:
    integral = data_type.precision - data_type.scale + 1
    if places < 0:
        target = DataType(TypeKind.DECIMAL, min(max(integral, 1 - places), MAX_PRECISION), 0)
        return Value(target, from_digits(_rounded(mode, digits_of(value), data_type.scale - places, -places), target))
    scale = min(data_type.scale, places)
    target = DataType(TypeKind.DECIMAL, min(integral + scale, MAX_PRECISION), scale)
    if mode is _half_up or scale == data_type.scale:
        return Value(target, cast(value.sql, target))
    return Value(target, from_digits(_rounded(mode, digits_of(value), data_type.scale - scale, 0), target))


def _rounded(mode: _Unit, whole: str, drop: int, keep: int | None = None) -> str:
    """Round a hugeint: drop so many digits, then append `keep` zeros in their place."""
    if drop >= MAX_PRECISION:
        if mode in (_half_up, _half_even):
            return f"CASE WHEN {whole} IS NULL THEN NULL ELSE 0::HUGEINT END"
        raise invalid("ceil and floor take no so many digits before the point")
    unit = 10**drop
    zeros = 10 ** (drop if keep is None else keep)
    return bound([Value(None, f"CAST({whole} AS HUGEINT)")], lambda n: f"({n} // {unit} + {mode(n, unit)}) * {zeros}")


def _to_whole(name: str, aliases: tuple[str, ...], doc: str) -> Function:
    return Function(
        name=name,
        aliases=aliases,
        parameters=(Parameter("number", Accepts.ANY), _DIGITS),
        optional=1,
        result="bigint, or a decimal with so many digits after the point (0)",
        doc=doc,
        write=partial(_next_whole, name),
    )


def _to_nearest(name: str, doc: str) -> Function:
    return Function(
        name=name,
        parameters=(_NUMBER, _DIGITS),
        optional=1,
        result="the type of the number; a decimal with fewer digits",
        doc=doc,
        write=partial(_round, name),
    )


ROUNDING = (
    _to_whole(
        "ceil",
        ("ceiling",),
        "The least number with so many digits that is not below; below 0 they are before the point.",
    ),
    _to_whole(
        "floor", (), "The greatest number with so many digits that is not above; below 0 they are before the point."
    ),
    _to_nearest(
        "round",
        "Rounded half up to so many digits after the point (0); below 0 before it.",
    ),
    _to_nearest("bround", "Rounded to so many digits (0), the half to the even digit. Slow for floating numbers."),
)
