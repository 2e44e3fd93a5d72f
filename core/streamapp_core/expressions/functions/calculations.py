"""Functions of numbers that stand for operators, that give null where these overflow, and that sort numbers."""

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions import comparisons
from streamapp_core.expressions.arithmetic import arithmetic, digits_of
from streamapp_core.expressions.conversions import converted, implied, number, widened, wrapped
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.conditionals import null_if
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.interval_types import common_interval
from streamapp_core.expressions.time_arithmetic import TIMES, combined, opposite
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, common_number
from streamapp_core.expressions.typed_sql import Value, bound, cast, try_cast
from streamapp_core.schema import BIGINT, BOOLEAN, DOUBLE, INT, MAX_PRECISION, DataType, TypeKind

_NUMBER = Parameter("number", Accepts.NUMBER)
_OTHER = Parameter("other", Accepts.NUMBER)
_ANY = Parameter("value", Accepts.ANY)
_LARGEST_FACTORIAL = 20
_ZERO = Value(INT, "0", 0, simple=True)


def integral_quotient(left: Value, right: Value) -> Value:
    """Write `left div right`: the quotient without what is after the point, a bigint.

    Raises:
        Refusal: They are neither whole numbers or decimals nor intervals of one kind.
    """
    if left.type and right.type and common_interval(left.type, right.type):
        return Value(BIGINT, wrapped(f"CAST({left.sql} AS HUGEINT) // CAST({right.sql} AS HUGEINT)", BIGINT))
    operands = [_exact(value) for value in (left, right)]
    common = common_number(*(value.type or INT for value in operands))
    if common.kind is TypeKind.DECIMAL:
        sides = [digits_of(converted(value, common)) for value in operands]
    else:
        sides = [cast(value.sql, "HUGEINT") for value in operands]
    quotient = Value(DataType(TypeKind.DECIMAL, MAX_PRECISION, 0), f"({sides[0]} // {sides[1]})")
    return (
        converted(quotient, BIGINT) if common.kind is TypeKind.DECIMAL else Value(BIGINT, wrapped(quotient.sql, BIGINT))
    )


def _exact(value: Value) -> Value:
    if value.type is None:
        return converted(value, INT)
    if value.kind not in (*INTEGRAL, TypeKind.DECIMAL):
        raise Refusal(f"`div` takes whole numbers or decimals, got {value.type}; cast it")
    return value


def _tried(operator: str, left: Value, right: Value) -> Value:
    """Write an operator whose result is null where a whole number overflows."""
    if {left.kind, right.kind} & TIMES:
        return combined(operator, left, right)
    left, right = number(left), number(right)
    if TypeKind.DECIMAL in (left.kind, right.kind) or operator in "/%":
        return arithmetic(operator, left, right)
    common = common_number(left.type or DOUBLE, right.type or DOUBLE)
    if common.kind not in INTEGRAL:
        return arithmetic(operator, left, right)
    return Value(common, try_cast(f"{widened(left, common)} {operator} {widened(right, common)}", common))


def _factorial(value: Value) -> Value:
    within = f"BETWEEN 0 AND {_LARGEST_FACTORIAL}"
    return Value(BIGINT, bound([value], lambda v: f"CASE WHEN {v} {within} THEN CAST(factorial({v}) AS BIGINT) END"))


def _not_a_number(value: Value) -> Value:
    if value.kind not in (None, *FRACTIONAL):
        value = converted(number(value), DOUBLE)
    return Value(BOOLEAN, f"coalesce(isnan({converted(value, value.type or DOUBLE).sql}), false)")


def _or_if_nan(value: Value, other: Value) -> Value:
    common = common_number(_floating(value), _floating(other))
    sides = [converted(side, common) for side in (value, other)]
    return Value(common, bound(sides, lambda v, o: f"CASE WHEN isnan({v}) THEN {o} ELSE {v} END"))


def _floating(value: Value) -> DataType:
    return value.type if value.type and value.kind in FRACTIONAL else DOUBLE


def _bucket(value: Value, low: Value, high: Value, count: Value) -> Value:
    """Write `width_bucket`: from 1, 0 below and count + 1 above; null for bounds that make no buckets."""

    def write(v: str, a: str, b: str, n: str) -> str:
        rising, falling = _part(f"{n} * ({v} - {a}) / ({b} - {a})"), _part(f"{n} * ({a} - {v}) / ({a} - {b})")
        up = f"CASE WHEN {v} < {a} THEN 0 WHEN {v} >= {b} THEN {n} + 1 ELSE {rising} END"
        down = f"CASE WHEN {v} > {a} THEN 0 WHEN {v} <= {b} THEN {n} + 1 ELSE {falling} END"
        unusable = f"{n} <= 0 OR {n} = {2**63 - 1} OR isnan({v}) OR {a} = {b} OR NOT isfinite({a}) OR NOT isfinite({b})"
        missing = " OR ".join(f"{operand} IS NULL" for operand in (v, a, b, n))
        return f"CASE WHEN {unusable} OR {missing} THEN NULL WHEN {a} < {b} THEN {up} ELSE {down} END"

    types = [operand.type for operand in (value, low, high) if operand.type]
    if all(data_type.kind in INTERVALS and common_interval(data_type, types[0]) for data_type in types):
        bounds = [Value(DOUBLE, cast(operand.sql, DOUBLE)) for operand in (value, low, high)]
    else:
        bounds = [implied(operand, DOUBLE) for operand in (value, low, high)]
    return Value(BIGINT, cast(bound([*bounds, implied(count, BIGINT)], write), BIGINT))


def _part(sql: str) -> str:
    return f"CAST(trunc({sql}) AS BIGINT) + 1"


def _or_zero(value: Value) -> Value:
    return comparisons.coalesce([value, _ZERO])


def _not_zero(value: Value) -> Value:
    return null_if(value if value.type else converted(value, INT), _ZERO)


def _nearest(v: str) -> str:
    return f"CASE WHEN isfinite({v}) AND abs({v}) < 4503599627370496 THEN round_even({v}, 0) ELSE {v} END"


def _operator(name: str, doc: str, operator: str, *, tried: bool = False) -> Function:
    def write(left: Value, right: Value) -> Value:
        return _tried(operator, left, right) if tried else arithmetic(operator, left, right)

    parameters = tuple(Parameter(name, Accepts.ANY if tried else Accepts.NUMBER) for name in ("number", "other"))
    return Function(name=name, parameters=parameters, result="the common type", doc=doc, write=write)


CALCULATIONS = (
    Function(
        name="div",
        parameters=(Parameter("number", Accepts.ANY), Parameter("other", Accepts.ANY)),
        result="bigint",
        doc="As `number div other`.",
        write=integral_quotient,
    ),
    _operator("mod", "As `number % other`.", "%"),
    _operator("try_add", "As `number + other`, but null where a whole number overflows.", "+", tried=True),
    _operator("try_subtract", "As `number - other`, but null where a whole number overflows.", "-", tried=True),
    _operator("try_multiply", "As `number * other`, but null where a whole number overflows.", "*", tried=True),
    _operator("try_divide", "As `number / other`.", "/", tried=True),
    _operator("try_mod", "As `number % other`.", "%", tried=True),
    Function(name="negative", parameters=(_ANY,), result="the type of the value", doc="As `-value`.", write=opposite),
    Function(
        name="positive",
        parameters=(_ANY,),
        result="the type of the value",
        doc="The number or interval as it is.",
        write=lambda value: value if value.kind in INTERVALS else number(value),
    ),
    Function(
        name="factorial",
        parameters=(Parameter("number", Accepts.WHOLE),),
        result="bigint",
        doc="The factorial of 0 to 20; else null.",
        write=_factorial,
    ),
    Function(
        name="rint",
        parameters=(Parameter("number", Accepts.DOUBLE),),
        result="double",
        doc="The nearest whole number as a double; of two, the even one.",
        write=lambda value: Value(DOUBLE, bound([value], _nearest)),
    ),
    Function(
        name="isnan",
        parameters=(_ANY,),
        result="boolean",
        doc="Whether a number is NaN; never null.",
        write=_not_a_number,
    ),
    Function(
        name="nanvl",
        parameters=(_NUMBER, _OTHER),
        result="float or double",
        doc="The number, or the other one if it is NaN.",
        write=_or_if_nan,
    ),
    Function(
        name="width_bucket",
        parameters=(
            Parameter("number", Accepts.ANY),
            Parameter("low", Accepts.ANY),
            Parameter("high", Accepts.ANY),
            Parameter("buckets", Accepts.ANY),
        ),
        result="bigint",
        doc="The number of the bucket of equal width, from 1, that a number or interval is in; 0 below, one more "
        "above.",
        write=_bucket,
    ),
    Function(
        name="zeroifnull",
        parameters=(_ANY,),
        result="the common type",
        doc="The value, or 0 if it is null.",
        write=_or_zero,
    ),
    Function(
        name="nullifzero",
        parameters=(_ANY,),
        result="the type of the value",
        doc="Null if the value is 0, else the value.",
        write=_not_zero,
    ),
    Function(
        name="equal_null",
        parameters=(_ANY, Parameter("other", Accepts.ANY)),
        result="boolean",
        doc="As `value <=> other`.",
        write=lambda left, right: comparisons.comparison("<=>", left, right),
    ),
)
