"""Kernels of texts: formats and edit distances. They go row by row."""

import math
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

import numpy as np
import pyarrow as pa

from streamapp_core.expressions.format_specifiers import Specifier, parse_format
from streamapp_systems.variants.floating_texts import decimal_of

_MAX_DIGITS = 11_000
"""Of a number that is written: 309 of a double before the point, and as many behind it as a format may ask for."""
_DIGITS = Context(prec=_MAX_DIGITS)
_MAX_PAIRS = 100_000_000
"""Pairs of characters that an edit distance may compare: it takes time by their number."""

_HALVES = dict.fromkeys(range(0xD800, 0xE000), "?")
_LAST_OF_PLANE = "\uffff"

_parsed = lru_cache(maxsize=64)(parse_format)


def edit_distance(lefts: pa.Array, rights: pa.Array) -> pa.Array:
    """Return how many characters differ at least, of texts of any characters; null where that would take too long."""

    def distance(left: str | None, right: str | None) -> int | None:
        if left is None or right is None or len(left) * len(right) > _MAX_PAIRS:
            return None
        return _distance(left, right)

    return pa.array(map(distance, lefts.to_pylist(), rights.to_pylist()), pa.int32())


def _distance(left: str, right: str) -> int:
    """Compute a row of the table of distances at once: each is one more than its left, or less."""
    left, right = sorted((left, right), key=len)
    places = np.arange(len(right) + 1)
    letters = np.frombuffer(right.encode("utf-32-le"), np.uint32)
    row = places
    for letter in left:
        changed = row[:-1] + (letters != ord(letter))
        row = np.concatenate([[row[0] + 1], np.minimum(row[1:] + 1, changed)])
        row = np.minimum.accumulate(row - places) + places
    return int(row[-1])


def formatted(formats: pa.Array, *columns: pa.Array) -> pa.Array:
    """Write values into formats, as Java's Formatter does: texts, whole numbers, doubles and booleans, or nulls."""
    bits = [column.type.bit_width if pa.types.is_integer(column.type) else 0 for column in columns]

    def write(text: str | None, row: tuple[object, ...]) -> str | None:
        return None if text is None else "".join(_pieces(text, row, bits))

    values = [column.to_pylist() for column in columns]
    rows = zip(*values, strict=True) if values else iter([()] * len(formats))
    return pa.array(map(write, formats.to_pylist(), rows), pa.string())


def _pieces(text: str, row: tuple[object, ...], bits: list[int]) -> Iterator[str]:
    for piece in _parsed(text):
        yield piece if isinstance(piece, str) else _written(piece, row[piece.argument], bits[piece.argument])


def _written(specifier: Specifier, value: object, bits: int) -> str:
    kind = specifier.conversion
    if kind in "bB":
        value = "false" if value is None else str(value).lower() if isinstance(value, bool) else "true"
    if value is None or isinstance(value, str):
        text = _cut("null" if value is None else value, specifier.precision)
    elif kind in "xX":
        return _hexadecimal(specifier, int(str(value)), bits)
    else:
        return _number(specifier, value)
    return _justified(specifier, text.upper() if kind.isupper() else text)


def _hexadecimal(specifier: Specifier, value: int, bits: int) -> str:
    sign = "0x" if "#" in specifier.flags else ""
    digits = f"{value % 2**bits:x}"
    zeros = "0" * (specifier.width - len(sign + digits)) if "0" in specifier.flags else ""
    text = sign + zeros + digits
    return _justified(specifier, text.upper() if specifier.conversion == "X" else text)


def _number(specifier: Specifier, value: object) -> str:
    """Write a number: sign or parentheses outside, then zeros up to the width, then its digits with commas."""
    flags = specifier.flags
    if isinstance(value, float):
        negative = math.copysign(1, value) < 0 and not math.isnan(value)
        digits = _fixed(abs(value), 6 if specifier.precision is None else specifier.precision)
    else:
        negative, digits = int(str(value)) < 0, str(abs(int(str(value))))
    finite = digits[0].isdigit()
    if "," in flags and finite:
        whole, point, rest = digits.partition(".")
        digits = f"{int(whole):,}" + point + rest
    before = ("(" if "(" in flags else "-") if negative else "+" if "+" in flags else " " if " " in flags else ""
    if digits == "NaN":
        before = ""
    after = ")" if negative and "(" in flags else ""
    if "0" in flags and finite:
        digits = digits.rjust(specifier.width - len(before + after), "0")
    return _justified(specifier, before + digits + after)


def _fixed(value: float, places: int) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return f"{decimal_of(value).quantize(Decimal((0, (1,), -places)), ROUND_HALF_UP, _DIGITS):f}"


def _justified(specifier: Specifier, text: str) -> str:
    spaces = " " * (specifier.width - len(text) - sum(letter > _LAST_OF_PLANE for letter in text))
    return text + spaces if "-" in specifier.flags else spaces + text


def _cut(text: str, units: int | None) -> str:
    """Keep so many of Java's characters, of which those beyond U+FFFF are two; half a one is a question mark."""
    if units is None or units >= 2 * len(text):
        return text
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "surrogatepass").translate(_HALVES)
