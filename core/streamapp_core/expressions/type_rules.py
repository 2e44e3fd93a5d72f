"""The common types of values of different types: Spark's rules with ANSI mode off."""

from collections.abc import Callable

from streamapp_core.data_types import INTERVALS, NESTED, SPATIAL, array_of, map_of, struct_of, unordered
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.interval_types import common_interval
from streamapp_core.schema import BIGINT, DOUBLE, INT, MAX_PRECISION, STRING, Column, DataType, TypeKind

INTEGRAL = frozenset({TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT})
FRACTIONAL = frozenset({TypeKind.FLOAT, TypeKind.DOUBLE})
NUMERIC = INTEGRAL | FRACTIONAL | {TypeKind.DECIMAL}

_NUMBER_ORDER = (
    TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE,
)  # fmt: skip
_MOMENTS = (TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ, TypeKind.DATE)
"""The widest first."""
_NO_TEXTS = frozenset({TypeKind.BOOLEAN, TypeKind.BINARY, TypeKind.VARIANT, *SPATIAL, *NESTED, *INTERVALS})
"""Types of values that no string beside them draws to string."""
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
    common = _simply_common(left, right)
    if common is not None:
        return common
    kinds = {left.kind, right.kind}
    if kinds <= NUMERIC:
        return common_number(left, right)
    if texts and TypeKind.STRING in kinds and not kinds & _NO_TEXTS:
        return STRING
    nested = _nested(left, right, lambda one, other: _wider(one, other, texts=texts))
    if nested is None:
        raise Refusal(f"expected values of one type, got {left} and {right}")
    return nested


def _simply_common(left: DataType, right: DataType) -> DataType | None:
    if left == right or right.kind is TypeKind.VOID:
        return left
    if left.kind is TypeKind.VOID:
        return right
    if left.kind in INTERVALS:
        return common_interval(left, right)
    moments = [kind for kind in _MOMENTS if kind in (left.kind, right.kind)]
    return DataType(moments[0]) if len(moments) > 1 else None


def _nested(left: DataType, right: DataType, common: Callable[[DataType, DataType], DataType]) -> DataType | None:
    """Return the common type of nested types, part by part; the fields of structs must have the same names."""
    if left.kind is not right.kind or not left.nested or len(left.fields) != len(right.fields):
        return None
    pairs = list(zip(left.fields, right.fields, strict=True))
    if left.kind is TypeKind.STRUCT and any(one.name.lower() != other.name.lower() for one, other in pairs):
        return None
    parts = [common(one.type, other.type) for one, other in pairs]
    if left.kind is TypeKind.ARRAY:
        return array_of(parts[0])
    if left.kind is TypeKind.MAP:
        return map_of(*parts)
    return struct_of([Column(one.name, part) for (one, _), part in zip(pairs, parts, strict=True)])


def _tightest(left: DataType, right: DataType) -> DataType:
    """Return the common type of values inside of nested ones that are compared: no text becomes a number there."""
    common = _simply_common(left, right)
    if common is not None:
        return common
    kinds = {left.kind, right.kind}
    if kinds <= NUMERIC and TypeKind.DECIMAL not in kinds:
        return common_number(left, right)
    nested = _nested(left, right, _tightest)
    if nested is None:
        raise Refusal(f"{left} and {right} can't be compared; cast one of them")
    return nested


def _alike(left: DataType, right: DataType) -> bool:
    """Return whether types differ in the names of fields at most."""
    if not left.nested or left.kind is not right.kind or len(left.fields) != len(right.fields):
        return left == right
    return all(_alike(one.type, other.type) for one, other in zip(left.fields, right.fields, strict=True))


def comparison_type(left: DataType, right: DataType) -> DataType:
    """Return the type in which two values are compared.

    A string is cast to the type of the other side (to double where that is a decimal).

    Raises:
        Refusal: They can't be compared.
    """
    for data_type in (left, right):
        if kind := unordered(data_type):
            raise Refusal(f"{kind}s can't be compared, and {data_type} is or holds one")
    common = _simply_common(left, right)
    if common is not None:
        return common
    kinds = {left.kind, right.kind}
    if kinds <= NUMERIC:
        return common_number(left, right)
    if left.nested or right.nested:
        return left if _alike(left, right) else _tightest(left, right)
    if TypeKind.STRING in kinds and not kinds & INTERVALS:
        other = right if left == STRING else left
        return DOUBLE if other.kind is TypeKind.DECIMAL else other
    repair = "cast one of them"
    if TypeKind.TIMESTAMP in kinds and kinds & INTEGRAL:
        repair = "make a timestamp of the number by timestamp_millis or timestamp_seconds"
    raise Refusal(f"{left} and {right} can't be compared; {repair}")


def number_literal_type(digits: int) -> DataType:
    """Return the type of a whole number as written, by its value."""
    if -(2**31) <= digits < 2**31:
        return INT
    if -(2**63) <= digits < 2**63:
        return BIGINT
    return decimal(len(str(abs(digits))), 0)
