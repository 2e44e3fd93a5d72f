"""The types of sums and averages, and averages of decimals."""

from streamapp_core.expressions.arithmetic import digits_of, divided, of_decimals
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.type_rules import INTEGRAL
from streamapp_core.expressions.typed_sql import Value, cast
from streamapp_core.schema import BIGINT, DOUBLE, MAX_PRECISION, DataType, TypeKind

SUM_DIGITS = 10
_AVERAGE_DIGITS = 4
_COUNT = DataType(TypeKind.DECIMAL, 20)


def sum_type(data_type: DataType) -> DataType:
    """Return the type of a sum of numbers of a type."""
    if data_type.kind in INTEGRAL:
        return BIGINT
    if data_type.kind is TypeKind.DECIMAL:
        return _decimal(data_type.precision + SUM_DIGITS, data_type.scale)
    return DOUBLE


def average_of(total: Value, count: Value, source: DataType) -> Value:
    """Divide a sum of numbers of a type by their count."""
    if source.kind is not TypeKind.DECIMAL:
        return Value(DOUBLE, f"({total.sql} / {count.sql})")
    target = _decimal(source.precision + _AVERAGE_DIGITS, source.scale + _AVERAGE_DIGITS)
    if source.precision + SUM_DIGITS + _AVERAGE_DIGITS > MAX_PRECISION:
        return of_decimals("/", total, converted(count, _COUNT), target)
    digits = f"{digits_of(total)} * {10**_AVERAGE_DIGITS}"
    return Value(target, divided(digits, cast(count.sql, "HUGEINT"), target))


def _decimal(precision: int, scale: int) -> DataType:
    return DataType(TypeKind.DECIMAL, min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))
