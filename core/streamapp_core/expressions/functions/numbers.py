"""Functions of numbers."""

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions.arithmetic import arithmetic
from streamapp_core.expressions.conversions import converted, implied, number, widened, wrapped
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import EXPM1, LOG1P
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, common_number
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import DOUBLE, TypeKind

_NUMBER = Accepts.NUMBER
_NAN = "'nan'::DOUBLE"
_INFINITY = "'inf'::DOUBLE"


def _abs(value: Value) -> Value:
    if value.kind in INTERVALS:
        return Value(value.type, f"TRY(abs({value.sql}))")
    value = number(value)
    data_type = value.type or DOUBLE
    if data_type.kind in INTEGRAL:
        return Value(data_type, wrapped(f"abs({widened(value, data_type)})", data_type))
    return Value(data_type, cast(f"abs({value.sql})", data_type))


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
    if TypeKind.DECIMAL in (dividend.kind, divisor.kind) and not {dividend.kind, divisor.kind} & FRACTIONAL:
        return arithmetic("pmod", dividend, divisor)
    common = common_number(dividend.type or DOUBLE, divisor.type or DOUBLE)
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
        doc="The remainder, not below 0 for a divisor above 0; slow for decimals.",
        write=_pmod,
    ),
    _of_double("sqrt", "The square root; NaN below 0.", "{0} < 0", _NAN),
    Function(
        name="expm1",
        parameters=(Parameter("number", Accepts.DOUBLE),),
        result="double",
        doc="e to the power of the number, less 1; exact for small numbers, too.",
        write=lambda value: Value(DOUBLE, EXPM1.over(value.sql)),
    ),
    Function(
        name="log1p",
        parameters=(Parameter("number", Accepts.DOUBLE),),
        result="double",
        doc="The natural logarithm of 1 more than the number; null from -1 down.",
        write=lambda value: Value(DOUBLE, LOG1P.over(value.sql)),
    ),
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
