"""The functions and operations of XPath 1.0 on texts, numbers and conditions, as Java computes them."""

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal

from streamapp_runtime.kernels.java_units import joined_units, units
from streamapp_runtime.kernels.xml_trees import Node

XPathValue = list[Node] | str | float | bool
_BLANKS = " \t\r\n"
_NUMBER = re.compile(r"[0-9.\-]+")
_INTEGERS = 2**31
_HALF = 0.5


class NoValueError(ValueError):
    """A path has no value in a tree: what Spark fails for, or what takes too long."""


def truth(value: XPathValue) -> bool:
    """Return a value as a condition."""
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def number_text(number: float) -> str:
    """Write a number without an exponent."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    written = f"{Decimal(repr(number)):f}"
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written == "-0" else written


def text_number(text: str) -> float:
    """Read a number of digits, a point and a minus; NaN of other texts."""
    text = text.strip(_BLANKS)
    if not _NUMBER.fullmatch(text):
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def total(numbers: Iterable[float]) -> float:
    """Return the sum of numbers, added from left to right."""
    total = 0.0
    for number in numbers:  # from left to right, as Java adds: `sum` of newer Pythons is exacter
        total += number
    return total


def whole_number(number: float) -> int:
    """Return a number cut to 32 bits."""
    return 0 if math.isnan(number) else int(max(-_INTEGERS, min(number, _INTEGERS - 1)))


def pair(one: str, other: str, *, texts: bool) -> tuple[str, str] | tuple[float, float]:
    """Return two texts, as such or as numbers."""
    return (one, other) if texts else (text_number(one), text_number(other))


def _rounded(number: float) -> int:
    """Return Java's `Math.round`."""
    if math.isnan(number):
        return 0
    number = max(-(2.0**63), min(number, 2.0**63))
    below = math.floor(number)
    return below + (number - below >= _HALF)


def substring(text: str, start: float, length: float | None = None) -> str:
    """Return the part of a text from a place on; the halves of characters count.

    Raises:
        NoValueError: It would end before it begins.
    """
    halves = units(text)
    if not halves:
        return ""
    first = -1_000_000 if math.isnan(start) else _rounded(start)
    begin = min(max(first - 1, 0), len(halves))
    if length is None:
        return joined_units(halves[begin:])
    end = int(max(-_INTEGERS, min(_rounded(length) + first, _INTEGERS - 1))) - 1
    end = min(max(end, 0), len(halves))
    if end < begin:
        raise NoValueError
    return joined_units(halves[begin:end])


def _translated(text: str, letters: str, others: str) -> str:
    halves, into = units(letters), units(others)
    table: dict[int, str | None] = {}
    for place, letter in enumerate(halves):
        table.setdefault(ord(letter), into[place] if place < len(into) else None)
    return joined_units(units(text).translate(table))


def _modulo(left: float, right: float) -> float:
    if math.isinf(left) or right == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def _quotient(left: float, right: float) -> float:
    if right != 0 or math.isnan(left):
        return left / right if right != 0 else math.nan
    return math.nan if left == 0 else math.copysign(math.inf, left) * math.copysign(1, right)


def _round(number: float) -> float:
    if not math.isfinite(number):
        return number
    if -_HALF <= number < 0:
        return -0.0
    return number if number == 0 else float(math.floor(number + 0.5))


def _floor(number: float) -> float:
    return float(math.floor(number)) if math.isfinite(number) else number


def _ceiling(number: float) -> float:
    return math.copysign(float(math.ceil(number)), number) if math.isfinite(number) else number


ARITHMETIC: dict[str, Callable[..., float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "div": _quotient,
    "mod": _modulo,
    "negative": lambda number: -number,
    "round": _round,
    "floor": _floor,
    "ceiling": _ceiling,
}
COMPARISONS: dict[str, Callable[..., bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
TEXT_FUNCTIONS: dict[str, Callable[..., XPathValue]] = {
    "string": lambda text: text,
    "concat": lambda *texts: joined_units("".join(texts)),
    "starts-with": lambda text, start: text.startswith(start),
    "contains": lambda text, part: part in text,
    "substring-before": lambda text, part: text.partition(part)[0] if part and part in text else "",
    "substring-after": lambda text, part: text.partition(part)[2] if part and part in text else "" if part else text,
    "string-length": lambda text: float(len(units(text))),
    "normalize-space": lambda text: " ".join(re.split(f"[{_BLANKS}]+", text.strip(_BLANKS))),
    "translate": _translated,
}
