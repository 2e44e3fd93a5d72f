"""Kernels of decimals: arithmetic with more digits than SQL has on the way to a result."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from streamapp_runtime.kernels.row_functions import each_row

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
_QUOTIENT_SCALE = Decimal("1e-39")
"""Spark rounds a quotient to so many digits before it rounds it to its type."""


def decimal_result(
    operators: pa.Array, left: pa.Array, right: pa.Array, precisions: pa.Array, scales: pa.Array
) -> pa.Array:
    """Compute two decimals by an operator, rounded half up to a scale; null over zero, or with too many digits."""
    return pa.array(each_row(_result, operators, left, right, precisions, scales), pa.string())


def _result(operator: str, left: str, right: str, precision: int, scale: int) -> str | None:
    if operator not in _OPERATORS:
        return None
    try:
        first, second = Decimal(left), Decimal(right)
        if not second and operator not in _WITH_ZERO:
            return None
        rounded = _OPERATORS[operator](first, second).quantize(Decimal((0, (1,), -scale)), context=_EXACT)
    except ArithmeticError:  # no decimals, or too many digits
        return None
    fits = rounded.is_finite() and (not rounded or rounded.adjusted() < precision - scale)
    return f"{rounded:f}" if fits else None


def _quotient(left: Decimal, right: Decimal) -> Decimal:
    return _EXACT.divide(left, right).quantize(_QUOTIENT_SCALE, context=_EXACT)


def _positive_remainder(left: Decimal, right: Decimal) -> Decimal:
    rest = _EXACT.remainder(left, right)
    return _EXACT.remainder(_EXACT.add(rest, right), right) if rest < 0 else rest


_WITH_ZERO = frozenset("+-*")
_OPERATORS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
    "/": _quotient,
    "%": _EXACT.remainder,
    "pmod": _positive_remainder,
}
