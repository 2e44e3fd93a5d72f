"""The operators + - * / % and unary minus: Spark's result types, wrap-around, and null for a division by zero.

The SQL takes it that DuckDB gives null for every division by zero (`DUCKDB_SETTINGS`).
"""

from streamapp_core.expressions.conversions import converted, number, widened, wrapped
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.kernels import DECIMAL_RESULT
from streamapp_core.expressions.type_rules import (
    INTEGRAL,
    adjusted_decimal,
    as_decimal,
    common_number,
    decimal,
)
from streamapp_core.expressions.typed_sql import Value, bound, cast, text, try_cast
from streamapp_core.schema import DOUBLE, MAX_PRECISION, DataType, TypeKind

_MIN_DIVISION_SCALE = 6


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Combine two numbers by `+ - * / %`, or two decimals by `pmod`.

    Raises:
        Refusal: An operand is no number.
    """
    if left.kind is None and right.kind is not None:
        left = converted(left, number(right).type or DOUBLE)
    elif right.kind is None and left.kind is not None:
        right = converted(right, number(left).type or DOUBLE)
    left, right = _operand(operator, left), _operand(operator, right)
    common = _common(left, right)
    if common.kind is TypeKind.DECIMAL:
        return _DECIMALS[operator](_as_decimal(left), _as_decimal(right))
    if operator == "/":
        return Value(DOUBLE, f"({converted(left, DOUBLE).sql} / {converted(right, DOUBLE).sql})")
    if common.kind in INTEGRAL and operator == "%":
        # In a wider type: the smallest number % -1 overflows in its own.
        return Value(common, cast(f"{widened(left, common)} % {widened(right, common)}", common))
    if common.kind in INTEGRAL:
        return Value(common, wrapped(f"{widened(left, common)} {operator} {widened(right, common)}", common))
    return Value(common, f"({converted(left, common).sql} {operator} {converted(right, common).sql})")


def negated(value: Value) -> Value:
    """Change the sign of a number.

    Raises:
        Refusal: It is no number.
    """
    value = _operand("-", value)
    kind = value.type or DOUBLE
    if kind.kind in INTEGRAL:
        return Value(kind, wrapped(f"-{widened(value, kind)}", kind))
    return Value(kind, cast(f"-({value.sql})", kind))


def divided(numerator: str, denominator: str, target: DataType) -> str:
    """Divide two hugeints, rounded half up, into the decimal whose digits without the point are the result."""

    def divide(n: str, d: str) -> str:
        away = f"CASE WHEN ({n} < 0) = ({d} < 0) THEN 1 ELSE -1 END"
        rest = f"abs({n} % {d})"
        return f"{n} // {d} + CASE WHEN {rest} >= abs({d}) - {rest} THEN {away} ELSE 0 END"

    return from_digits(bound([Value(None, numerator), Value(None, denominator)], divide), target)


def digits_of(value: Value) -> str:
    """Return a decimal's digits without the point, as a hugeint."""
    source = value.type or DOUBLE
    if source.scale == 0:
        return cast(value.sql, "HUGEINT")
    if source.precision + source.scale < MAX_PRECISION:
        wide = cast(value.sql, f"DECIMAL({MAX_PRECISION},{source.scale})")
        return cast(f"{wide} * CAST({10**source.scale} AS DECIMAL({source.scale + 1},0))", "HUGEINT")
    return cast(f"replace(CAST({value.sql} AS VARCHAR), '.', '')", "HUGEINT")


def from_digits(sql: str, target: DataType) -> str:
    """Return the decimal with these digits without the point; null if they are too many."""
    whole = try_cast(sql, f"DECIMAL({MAX_PRECISION},0)")
    if target.scale == 0:
        return try_cast(whole, target)
    unit = f"CAST('0.{'1':0>{target.scale}}' AS DECIMAL({target.scale},{target.scale}))"
    return try_cast(f"TRY({whole} * {unit})", target)


def of_decimals(operator: str, left: Value, right: Value, target: DataType) -> Value:
    """Compute two decimals by an operator of `DECIMAL_RESULT`, with all digits on the way: slow."""
    sides = (cast(side.sql, "VARCHAR") for side in (left, right))
    found = DECIMAL_RESULT.over(text(operator), *sides, str(target.precision), str(target.scale))
    return Value(target, cast(found, target))


def _operand(operator: str, value: Value) -> Value:
    try:
        return number(value)
    except Refusal:
        hint = "; use date_add or datediff" if value.kind is TypeKind.DATE else ""
        raise Refusal(f"`{operator}` takes numbers, got {value.type}{hint}") from None


def _common(left: Value, right: Value) -> DataType:
    left_type, right_type = left.type or DOUBLE, right.type or DOUBLE
    kinds = {left_type.kind, right_type.kind}
    if TypeKind.DECIMAL in kinds and kinds <= INTEGRAL | {TypeKind.DECIMAL}:
        return DataType(TypeKind.DECIMAL, MAX_PRECISION)
    return common_number(left_type, right_type)


def _as_decimal(value: Value) -> Value:
    """Convert an operand of decimal arithmetic to decimal: a whole literal to as many digits as it has."""
    if isinstance(value.literal, int) and value.kind in INTEGRAL:
        return converted(value, decimal(len(str(abs(value.literal))), 0))
    return converted(value, as_decimal(value.type or DOUBLE))


def _sum(operator: str, left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = _shape(left), _shape(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale + 1
    target = adjusted_decimal(precision, scale)
    if precision > MAX_PRECISION:
        return of_decimals(operator, left, right, target)
    return Value(target, cast(f"{cast(left.sql, target)} {operator} {cast(right.sql, target)}", target))


def _product(left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = _shape(left), _shape(right)
    target = adjusted_decimal(p1 + p2 + 1, s1 + s2)
    if p1 + p2 > MAX_PRECISION:
        return of_decimals("*", left, right, target)
    # One side as wide as can be: DuckDB would multiply two narrow decimals in 64 bits.
    wide = cast(left.sql, f"DECIMAL({MAX_PRECISION},{s1})")
    return Value(target, try_cast(f"{wide} * {right.sql}", target))


def _quotient(left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = _shape(left), _shape(right)
    integral, scale = p1 - s1 + s2, max(_MIN_DIVISION_SCALE, s1 + p2 + 1)
    target = adjusted_decimal(integral + scale, scale)
    shift = target.scale + s2 - s1
    if shift < 0 or p1 + shift > MAX_PRECISION:
        return of_decimals("/", left, right, target)
    return Value(target, divided(f"{digits_of(left)} * {10**shift}", digits_of(right), target))


def _remainder(left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = _shape(left), _shape(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    target = decimal(min(p1 - s1, p2 - s2) + scale, scale)
    if precision > MAX_PRECISION:
        return of_decimals("%", left, right, target)
    common = decimal(precision, scale)
    left_digits, right_digits = digits_of(converted(left, common)), digits_of(converted(right, common))
    return Value(target, from_digits(f"{left_digits} % {right_digits}", target))


def _positive_remainder(left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = _shape(left), _shape(right)
    scale = max(s1, s2)
    return of_decimals("pmod", left, right, decimal(min(p1 - s1, p2 - s2) + scale, scale))


def _shape(value: Value) -> tuple[int, int]:
    data_type = value.type or DOUBLE
    return data_type.precision, data_type.scale


_DECIMALS = {
    "+": lambda left, right: _sum("+", left, right),
    "-": lambda left, right: _sum("-", left, right),
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "pmod": _positive_remainder,
}
