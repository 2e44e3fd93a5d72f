"""Numbers in texts as Java reads them, written again as texts that a cast takes."""

import re
import struct

_WHOLE = re.compile(r"[+-]?\d+")
_MOST_DIGITS = 1000
_FLOATING = re.compile(
    r"[\x00-\x20]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?NaN|[+-]?Infinity)[dDfF]?[\x00-\x20]*"
)
_LENIENT = re.compile(r"(-?)([\d,]*)(?:\.(\d*))?(?:E(-?)(\d+))?")
_LAST_UNIT = "\uffff"


def whole(text: str, bits: int) -> int | None:
    """Return a whole number of so many bits; None if it is none."""
    if not _WHOLE.fullmatch(text) or len(text) > _MOST_DIGITS or max(text) > _LAST_UNIT:
        return None
    number = int(text)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def wrapped(number: int, bits: int) -> int:
    """Return a number with the lowest bits of another."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def floating(text: str) -> str | None:
    """Return a floating number as Java's own parser reads it; None if it is none."""
    match = _FLOATING.fullmatch(text)
    if match is None:
        return None
    return "NaN" if match[1].endswith("N") else match[1]


def lenient(text: str, *, single: bool) -> str | None:
    """Return the number that a text begins with, which may have commas, as a double or float; None without one."""
    if text.startswith("NaN"):
        return "NaN"
    if text.removeprefix("-").startswith("∞"):
        return "-Infinity" if text.startswith("-") else "Infinity"
    match = _LENIENT.match(text)
    if match is None or not any(sign.isdigit() for sign in match[2] + (match[3] or "")):
        return None
    sign, before, behind, negative, exponent = (match[group] or "" for group in range(1, 6))
    digits = f"{before.replace(',', '') or 0}.{behind or 0}e{negative}{exponent[:_MOST_DIGITS] or 0}"
    number = float(sign + digits)
    if single:
        try:
            number = struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            number = float("-inf" if number < 0 else "inf")
    return repr(number)
