"""Kernels of numbers: logarithms near one, and roundings and forms that go row by row."""

import math
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.kernels.row_functions import each_row
from streamapp_systems.variants.floating_texts import decimal_of, floating_text

_DIGITS = Context(prec=11_000)
_LONG = 2**64


def expm1(values: pa.Array) -> pa.Array:
    """Return e to the power of each number, less one; by the C library, as numpy's differs with the processor's."""
    return pc.expm1(values)


def log1p(values: pa.Array) -> pa.Array:
    """Return the natural logarithm of one more than each number; null from -1 down. See `expm1`."""
    return pc.log1p(pc.if_else(pc.less_equal(values, -1.0), None, values))


def double_text(values: pa.Array) -> pa.Array:
    """Write doubles as texts."""
    return pa.array(each_row(floating_text, values), pa.string())


def float_text(values: pa.Array) -> pa.Array:
    """Write floats as texts."""
    return pa.array(each_row(partial(floating_text, single=True), values), pa.string())


def half_even(values: pa.Array, places: pa.Array) -> pa.Array:
    """Round doubles, as they are written in decimal digits, to so many places, the half to the even digit."""
    return _rounded(values, places, ROUND_HALF_EVEN)


def half_up(values: pa.Array, places: pa.Array) -> pa.Array:
    """Round doubles, as they are written in decimal digits, to so many places, the half away from 0."""
    return _rounded(values, places, ROUND_HALF_UP)


def _rounded(values: pa.Array, places: pa.Array, mode: str) -> pa.Array:
    def rounded(value: float | None, digits: int | None) -> float | None:
        if value is None or digits is None or not math.isfinite(value):
            return value
        number = decimal_of(value)
        if -int(number.as_tuple().exponent) <= digits:
            return value + 0.0  # Java's decimals have no zero with a sign
        return float(number.quantize(Decimal((0, (1,), -digits)), mode, _DIGITS)) + 0.0

    return pa.array(map(rounded, values.to_pylist(), places.to_pylist()), pa.float64())


def grouped_number(texts: pa.Array, values: pa.Array, forms: pa.Array) -> pa.Array:
    """Write numbers with commas, as `format_number` does: the half goes to the even digit."""
    rows = zip(texts.to_pylist(), values.to_pylist(), forms.to_pylist(), strict=True)
    return pa.array((_grouped(text, value, *map(int, form.split())) for text, value, form in rows), pa.string())


def _grouped(text: str | None, value: float | None, *form: int) -> str | None:
    group, whole, least, most = form
    if text is None:
        return None
    negative, digits = text.startswith("-"), text.lstrip("-")
    if not digits[0].isdigit():
        return "NaN" if digits.lower() == "nan" else "-∞" if negative else "∞"
    before, _, behind = _places(Decimal(digits), None if value is None else abs(value), most).partition(".")
    behind = behind.rstrip("0").ljust(least, "0")
    before = before.lstrip("0").rjust(whole, "0")
    if not before and not behind:
        before = "0"
    if group:
        head = len(before) % group
        before = ",".join(part for part in (before[:head], *re.findall("." * group, before[head:])) if part)
    return ("-" if negative else "") + before + ("." + behind if behind else "")


def _places(number: Decimal, value: float | None, places: int) -> str:
    """Round to so many places; what is half by the digits of a double is not, if its bits are below or above."""
    unit = Decimal((0, (1,), -places))
    rounded = number.quantize(unit, ROUND_HALF_EVEN, _DIGITS)
    difference = _DIGITS.abs(_DIGITS.subtract(number, rounded))
    if value is not None and difference * 2 == unit:
        exact = Decimal(value)
        below = number.quantize(unit, "ROUND_FLOOR", _DIGITS)
        if exact != number:
            rounded = below if exact < number else _DIGITS.add(below, unit)
    return f"{rounded:f}"


def other_base(texts: pa.Array, sources: pa.Array, targets: pa.Array) -> pa.Array:
    """Write whole numbers in another base, by way of 64 bits: what is more is all ones."""
    rows = zip(texts.to_pylist(), sources.to_pylist(), targets.to_pylist(), strict=True)
    return pa.array((_in_base(*row) for row in rows), pa.string())


def _in_base(text: str | None, source: int | None, target: int | None) -> str | None:
    if text is None or source is None or target is None:
        return None
    text = text.strip(" ")
    if not 2 <= source <= 36 or not 2 <= abs(target) <= 36 or not text:  # noqa: PLR2004 - digits and letters
        return None
    negative = text.startswith("-")
    number = min(_leading(text[1:] if negative else text, source), _LONG - 1)
    if negative and target > 0:
        number = _LONG - 1 if number >= _LONG // 2 else -number % _LONG
    if target < 0 and number >= _LONG // 2:
        number, negative = _LONG - number, True
    return ("-" if negative and target < 0 else "") + np.base_repr(number, abs(target))


def _leading(text: str, base: int) -> int:
    """Read the digits at the start of a text; what is behind them does not count."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[:base]
    match = re.match(f"[{digits}]*", text, re.IGNORECASE | re.ASCII)
    found = match[0].lstrip("0") if match else ""
    return int(found[:65], base) if found else 0
