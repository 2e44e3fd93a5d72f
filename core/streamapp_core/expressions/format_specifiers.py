"""The formats of `format_string`: the part of Java's Formatter that is read here."""

import re
from dataclasses import dataclass

from streamapp_core.expressions.expression_issues import invalid

MAX_WIDTH = 10_000
"""The most characters that a width or precision may ask for: a batch must fit in memory."""

_SPECIFIER = re.compile(
    r"%(?P<number>[1-9][0-9]*\$)?(?P<flags>[-#+ 0,(]*)(?P<width>[1-9][0-9]*)?"
    r"(?:\.(?P<precision>[0-9]+))?(?P<conversion>[a-zA-Z%])"
)
_FLAGS = {"s": "-", "S": "-", "d": "-+ 0,(", "x": "-#0", "X": "-#0", "f": "-+ 0,(", "b": "-", "B": "-"}


@dataclass(frozen=True, slots=True)
class Specifier:
    """One place of a format that an argument, by its number from 0, is written to."""

    argument: int
    conversion: str
    flags: str
    width: int
    precision: int | None


def parse_format(text: str) -> tuple[str | Specifier, ...]:
    """Split a format into its texts and specifiers.

    Raises:
        Refusal: It has a form that is not read here, or none of Java's.
    """
    pieces: list[str | Specifier] = []
    position = ordinary = 0
    while position < len(text):
        if text[position] != "%":
            end = text.find("%", position)
            end = len(text) if end < 0 else end
            pieces.append(text[position:end])
            position = end
            continue
        match = _SPECIFIER.match(text, position)
        if match is None:
            raise invalid(f"the format has a % without a conversion at position {position + 1}; write %% for the sign")
        position = match.end()
        conversion = match["conversion"]
        if match[0] in ("%%", "%n"):
            pieces.append("%" if conversion == "%" else "\n")
            continue
        number = int(match["number"][:-1][:6]) - 1 if match["number"] else ordinary
        ordinary += not match["number"]
        pieces.append(_specifier(match, number))
    return tuple(pieces)


def _specifier(match: re.Match[str], number: int) -> Specifier:
    conversion, flags = match["conversion"], match["flags"]
    width, precision = (int((match[name] or "0")[:6]) for name in ("width", "precision"))
    known = _FLAGS.get(conversion)
    if known is None or not set(flags) <= set(known) or len(set(flags)) < len(flags):
        raise invalid(
            f"`{match[0][:20]}` in a format: there are %s, %d, %x, %f and %b, with the flags - 0 + , ( and space"
        )
    sides = ("-" in flags and "0" in flags) or ("+" in flags and " " in flags)
    if sides or (("-" in flags or "0" in flags) and not width) or max(width, precision) > MAX_WIDTH:
        raise invalid(f"`{match[0][:20]}` in a format: flags that need each other's place, or a width over {MAX_WIDTH}")
    if match["precision"] and conversion not in "sSfbB":
        raise invalid(f"`{match[0][:20]}` in a format: whole numbers have no precision")
    return Specifier(number, conversion, flags, width, precision if match["precision"] else None)
