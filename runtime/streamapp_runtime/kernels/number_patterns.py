"""Kernels of `to_char` and `to_number`: numbers written and read by a format of digits. They go row by row."""

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa

from streamapp_core.expressions.number_formats import NumberFormat, Sign, parse_number_format

_SPACES = r"[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]"
_LAST_OF_PLANE = "\uffff"

_parsed = lru_cache(maxsize=64)(parse_number_format)


def number_to_char(numbers: pa.Array, formats: pa.Array) -> pa.Array:
    """Write decimal numbers, given as plain texts, by formats; `#` stands for digits that do not fit."""
    return _by_format(_written, numbers, formats)


def char_to_number(texts: pa.Array, formats: pa.Array) -> pa.Array:
    """Read numbers by formats, as plain texts; null where a text does not fit."""
    return _by_format(_read, texts, formats)


def _by_format(convert: Callable[[str, NumberFormat], str | None], texts: pa.Array, formats: pa.Array) -> pa.Array:
    def converted(text: str | None, form: str | None) -> str | None:
        return None if text is None or form is None else convert(text, _parsed(form))

    return pa.array(map(converted, texts.to_pylist(), formats.to_pylist()), pa.string())


def _written(number: str, form: NumberFormat) -> str:
    negative = number.startswith("-")
    whole, _, places = number.lstrip("-").partition(".")
    whole, places = whole.lstrip("0"), places.rstrip("0")
    if len(whole) > form.whole_digits or len(places) > form.places:
        whole, places = "#" * form.whole_digits, "#" * form.places
    negative = negative and bool(whole or places)
    text = _Text("<" if form.brackets and negative else "")
    _sign(text, form.before, negative=negative)
    if form.currency:
        text.value += "$"
    _whole(text, whole.rjust(form.whole_digits), form)
    if form.point:
        if text.value.endswith(" "):
            text.value = text.value[:-1] + "0"
        text.value += "." + places.ljust(form.places, "0")
    _sign(text, form.behind, negative=negative)
    if form.brackets:
        text.strip_point()
        if negative:
            text.add_before_spaces(">")
        else:
            text.value += "  "
    text.strip_point()
    return "0" if text.value in ("", "+", "-") else text.value


class _Text:
    """A number as it is written: signs stand next to its digits, not next to the spaces before or behind them."""

    def __init__(self, value: str) -> None:
        self.value = value

    def add_space(self) -> None:
        signs = len(self.value) - len(self.value.rstrip("+-<"))
        start = len(self.value) - signs
        self.value = self.value[:start] + " " + self.value[start:]

    def add_before_spaces(self, sign: str) -> None:
        bare = self.value.rstrip(" ")
        self.value = bare + sign + self.value[len(bare) :]

    def strip_point(self) -> None:
        before, point, behind = self.value.partition(".")
        if point and (not behind or behind.startswith(" ")):
            self.value = f"{before} {behind}"


def _sign(text: _Text, sign: Sign | None, *, negative: bool) -> None:
    if sign is None:
        return
    if sign is Sign.MINUS and not negative:
        text.value += " "
        return
    text.strip_point()
    text.add_before_spaces("-" if negative else "+")


def _whole(text: _Text, digits: str, form: NumberFormat) -> None:
    place = 0
    for number, group in enumerate(form.groups):
        if number and text.value[-1:].isdigit():
            text.value += ","
        elif number:
            text.add_space()
        for digit in digits[place : place + group.size]:
            if digit != " ":
                text.value += digit
            elif group.zeros:
                text.value += "0"
            else:
                text.add_space()
        place += group.size


def _read(text: str, form: NumberFormat) -> str | None:
    """Read a text piece by piece, in the order of the format; pieces but the currency sign may be missing."""
    reader = _Reader(text)
    opened = form.brackets and reader.take("<")
    negative = _read_sign(reader, form.before)
    if form.currency and not reader.take("$") and not reader.ended:
        return None
    whole = reader.digits([(group.size, group.zeros) for group in form.groups]) if form.groups else ""
    pointed = form.point and reader.take(".")
    places = reader.digits([(form.places, False)]) if form.places else ""
    if whole is None or places is None:
        return None
    if not pointed:
        whole, places = whole + places, ""
    negative ^= _read_sign(reader, form.behind)
    if form.brackets and reader.take(">"):
        if not opened:
            return None
        negative, opened = not negative, False
    if not reader.ended or opened or not whole + places:
        return None
    return ("-" if negative else "") + (whole or "0") + ("." + places if places else "")


def _read_sign(reader: "_Reader", sign: Sign | None) -> bool:
    if sign is Sign.PLUS_OR_MINUS and reader.take("+"):
        return False
    return sign is not None and reader.take("-")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    @property
    def ended(self) -> bool:
        return self._place == len(self._text)

    def take(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._place)
        self._place += found
        return found

    def digits(self, expected: list[tuple[int, bool]]) -> str | None:
        """Take digits in groups parted by commas, whatever the spaces; None if they are not as many as expected."""
        start = self._place
        while not self.ended and _is_part(self._text[self._place]):
            self._place += 1
        groups = [re.sub(_SPACES, "", group) for group in self._text[start : self._place].split(",")][::-1]
        if len(groups) > len(expected):
            return None
        sizes = [len(group) for group in groups] + [0] * (len(expected) - len(groups))
        fits = all(
            size == most if exact else size <= most for size, (most, exact) in zip(sizes, expected[::-1], strict=True)
        )
        return "".join(str(int(digit)) for group in groups[::-1] for digit in group) if fits else None


def _is_part(character: str) -> bool:
    digit = character.isdecimal() and character <= _LAST_OF_PLANE
    return digit or character == "," or re.fullmatch(_SPACES, character) is not None
