"""JSON as Jackson's generators write it: the copy of tokens, strings with their escapes, numbers as Java has them."""

import math
import re

from streamapp_systems.variants.floating_texts import floating_text
from streamapp_systems.variants.json_tokens import MalformedJsonError, TokenKind, Tokens

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPED_BYTES = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_HALF = re.compile("[\ud800-\udfff]")


def string(text: str, *, as_bytes: bool) -> str:
    """Write a string in quotes.

    As bytes, what Java holds as two halves (beyond U+FFFF) is escaped, half by half.
    """
    return f'"{(_ESCAPED_BYTES if as_bytes else _ESCAPED).sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in _SHORT:
        return _SHORT[sign]
    halves = sign.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{halves[place : place + 4]}" for place in range(0, len(halves), 4))


def has_halves(text: str) -> bool:
    """Return whether a text has a half of a character, which UTF-8 can't hold."""
    return not text.isascii() and _HALF.search(text) is not None


def java_text(text: str) -> str:
    """Return a text as Java writes it in UTF-8: a question mark for half a character."""
    return _HALF.sub("?", text) if has_halves(text) else text


def double(number: float) -> str:
    """Write a number as Java does; what is none stands in quotes."""
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    return floating_text(number)


def integer(text: str) -> str:
    """Write a whole number: -0 is 0."""
    return "0" if text == "-0" else text


class Generator:
    """A writer of values one after the other: at the root a space is between them, in an array a comma."""

    def __init__(self, *, as_bytes: bool) -> None:
        self.parts: list[str] = []
        self._as_bytes = as_bytes
        self._separators = [" "]
        self._first = [True]

    def text(self) -> str:
        """Return what is written."""
        return "".join(self.parts)

    def open_array(self) -> None:
        """Begin an array."""
        self._separate()
        self.parts.append("[")
        self._separators.append(",")
        self._first.append(True)

    def close_array(self) -> None:
        """End the array."""
        self.parts.append("]")
        self._separators.pop()
        self._first.pop()

    def raw(self, text: str) -> None:
        """Write a text as it is, which is no value.

        Raises:
            MalformedJsonError: UTF-8 can't hold it.
        """
        if self._as_bytes and has_halves(text):
            raise MalformedJsonError
        self.parts.append(text)

    def raw_value(self, text: str) -> None:
        """Write a value that is JSON already.

        Raises:
            MalformedJsonError: UTF-8 can't hold it.
        """
        self._separate()
        self.raw(text)

    def copy(self, tokens: Tokens, start: int) -> None:
        """Write the value that begins at a token."""
        self._separate()
        write, as_bytes = self.parts.append, self._as_bytes
        kinds, texts = tokens.kinds, tokens.texts
        separate = False
        for place in range(start, tokens.ends[start] + 1):
            kind = kinds[place]
            if kind is TokenKind.END_OBJECT or kind is TokenKind.END_ARRAY:
                write("}" if kind is TokenKind.END_OBJECT else "]")
                separate = True
                continue
            if separate:
                write(",")
            separate = True
            match kind:
                case TokenKind.OBJECT | TokenKind.ARRAY:
                    write("{" if kind is TokenKind.OBJECT else "[")
                    separate = False
                case TokenKind.NAME:
                    write(string(texts[place], as_bytes=as_bytes) + ":")
                    separate = False
                case TokenKind.STRING:
                    write(string(texts[place], as_bytes=as_bytes))
                case TokenKind.INTEGER:
                    write(integer(texts[place]))
                case TokenKind.FLOAT:
                    write(double(float(texts[place])))
                case _:
                    write(kind.name.lower())

    def _separate(self) -> None:
        if not self._first[-1]:
            self.parts.append(self._separators[-1])
        self._first[-1] = False
