"""Sums that forget nothing: a value that is taken out again leaves the sum of the others, to the last bit.

Floating numbers are kept as multiples of the least one there is, so that their sum does not depend on their order.
"""

import math
from decimal import Context, Decimal
from typing import Any

from streamapp_core.schema import DataType, TypeKind

_BITS = 1074
_UNIT = 1 << _BITS
"""The least positive double is its inverse."""
_WRAP, _HALF = 1 << 64, 1 << 63
_EXACT = Context(prec=80)

EMPTY = ["0", 0, 0, 0, 0]
"""The state of a sum without values: its whole number as text, how many values, NaNs, infinities of both signs."""
Sum = list[Any]


def is_exact(kind: DataType) -> bool:
    """Return whether sums of a type can be kept so."""
    return kind.kind in (TypeKind.BIGINT, TypeKind.DECIMAL, TypeKind.FLOAT, TypeKind.DOUBLE)


def add_value(state: Sum, kind: DataType, value: Any, sign: int) -> Sum:  # noqa: ANN401 - a plain value of the type
    """Add a value (sign 1), or take out one that was added (sign -1); null changes nothing."""
    if value is None:
        return state
    total, count, nans, positive, negative = state
    if kind.kind is TypeKind.BIGINT:
        units = value
    elif kind.kind is TypeKind.DECIMAL:
        units = int(_EXACT.scaleb(Decimal(value), kind.scale))
    elif math.isnan(value):
        return [total, count + sign, nans + sign, positive, negative]
    elif math.isinf(value):
        return [total, count + sign, nans, positive + sign * (value > 0), negative + sign * (value < 0)]
    else:
        numerator, denominator = value.as_integer_ratio()
        units = numerator * (_UNIT // denominator)
    return [format(int(total, 16) + sign * units, "x"), count + sign, nans, positive, negative]


def sum_of(state: Sum, kind: DataType) -> Any:  # noqa: ANN401 - a plain value of the type
    """Return the sum: null without values, whole numbers wrapped around, a decimal that does not fit as null."""
    total, count, nans, positive, negative = state
    if not count:
        return None
    units = int(total, 16)
    if kind.kind is TypeKind.BIGINT:
        return (units + _HALF) % _WRAP - _HALF
    if kind.kind is TypeKind.DECIMAL:
        fits = abs(units) < 10**kind.precision
        return str(_EXACT.scaleb(Decimal(units), -kind.scale)) if fits else None
    if nans or positive or negative:
        return math.nan if nans or (positive and negative) else math.inf if positive else -math.inf
    return _nearest(units)


def _nearest(units: int) -> float:
    try:
        return units / _UNIT
    except OverflowError:
        return math.inf if units > 0 else -math.inf
