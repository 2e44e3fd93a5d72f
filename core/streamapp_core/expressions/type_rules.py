"""The common types of values of different types: Spark's rules with ANSI mode off."""

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.schema import BIGINT, DOUBLE, INT, MAX_PRECISION, STRING, DataType, TypeKind

INTEGRAL = frozenset({TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT})
FRACTIONAL = frozenset({TypeKind.FLOAT, TypeKind.DOUBLE})
NUMERIC = INTEGRAL | FRACTIONAL | {TypeKind.DECIMAL}

_NUMBER_ORDER = (
    TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE,
)  # fmt: skip
_WHOLE_DIGITS = {TypeKind.TINYINT: 3, TypeKind.SMALLINT: 5, TypeKind.INT: 10, TypeKind.BIGINT: 20}
_MIN_ADJUSTED_SCALE = 6


def decimal(precision: int, scale: int) -> DataType:
    """Return a decimal type.

    Raises:
        Refusal: It would need more digits than a decimal has.
    """
    if precision > MAX_PRECISION:
        raise Refusal(
            f"the result would need a decimal of {precision} digits, {MAX_PRECISION} is the most; "
            "cast an operand to a smaller decimal or to double"
        )
    return DataType(TypeKind.DECIMAL, precision, scale)


def adjusted_decimal(precision: int, scale: int) -> DataType:
    """Return the decimal type of a result, without some digits after the point (down to six) if it is too long."""
    if precision <= MAX_PRECISION:
        return DataType(TypeKind.DECIMAL, precision, scale)
    integral = precision - scale
    return DataType(TypeKind.DECIMAL, MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, _MIN_ADJUSTED_SCALE)))


def as_decimal(data_type: DataType) -> DataType:
    """Return the decimal that holds every value of a whole-number or decimal type."""
    digits = _WHOLE_DIGITS.get(data_type.kind)
    return DataType(TypeKind.DECIMAL, digits, 0) if digits else data_type


def common_number(left: DataType, right: DataType) -> DataType:
    """Return the common type of two numbers."""
    if left == right:
        return left
    if TypeKind.DECIMAL not in (left.kind, right.kind):
        return DataType(max(left.kind, right.kind, key=_NUMBER_ORDER.index))
    if left.kind in FRACTIONAL or right.kind in FRACTIONAL:
        return DOUBLE
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    return decimal(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def common_type(types: list[DataType | None], *, texts: bool) -> DataType | None:
    """Return the common type of the branches of one value; None if all are bare nulls.

    Args:
        types: The types of the branches, None for a bare null.
        texts: Whether a string draws the others to string (as in `coalesce` and `case`; not in `greatest`).

    Raises:
        Refusal: There is none.
    """
    known = [data_type for data_type in types if data_type]
    known.sort(key=lambda data_type: data_type != STRING)
    result: DataType | None = None
    for data_type in known:
        result = data_type if result is None else _wider(result, data_type, texts=texts)
    return result


def _wider(left: DataType, right: DataType, *, texts: bool) -> DataType:
    if left == right:
        return left
    kinds = {left.kind, right.kind}
    if kinds <= NUMERIC:
        return common_number(left, right)
    if kinds == {TypeKind.DATE, TypeKind.TIMESTAMP}:
        return DataType(TypeKind.TIMESTAMP)
    if texts and TypeKind.STRING in kinds and not kinds & {TypeKind.BOOLEAN, TypeKind.BINARY}:
        return STRING
    raise Refusal(f"expected values of one type, got {left} and {right}")


def comparison_type(left: DataType, right: DataType) -> DataType:
    """Return the type in which two values are compared.

    A string is cast to the type of the other side (to double where that is a decimal).

    Raises:
        Refusal: They can't be compared.
    """
    if left == right:
        return left
    kinds = {left.kind, right.kind}
    if kinds <= NUMERIC:
        return common_number(left, right)
    if kinds == {TypeKind.DATE, TypeKind.TIMESTAMP}:
        return DataType(TypeKind.TIMESTAMP)
    if TypeKind.STRING in kinds:
        other = right if left == STRING else left
        return DOUBLE if other.kind is TypeKind.DECIMAL else other
    raise Refusal(f"{left} and {right} can't be compared; cast one of them")


def number_literal_type(digits: int) -> DataType:
    """Return the type of a whole number as written, by its value."""
    if -(2**31) <= digits < 2**31:
        return INT
    if -(2**63) <= digits < 2**63:
        return BIGINT
    return decimal(len(str(abs(digits))), 0)
