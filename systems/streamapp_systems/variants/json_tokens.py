"""JSON texts as a list of tokens, read as Spark reads them: by the rules and limits of Jackson's parser.

A list of tokens, with the place of every container's end, needs no recursion however deeply a text is nested.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

MAX_DEPTH = 1000
MAX_NUMBER_LENGTH = 1000
MAX_NAME_LENGTH = 50_000


class TokenKind(Enum):
    """The kinds of tokens."""

    OBJECT = auto()
    END_OBJECT = auto()
    ARRAY = auto()
    END_ARRAY = auto()
    NAME = auto()
    STRING = auto()
    INTEGER = auto()
    FLOAT = auto()
    """A number with a point or exponent, or one of `NaN`, `Infinity`, `+INF`, ... where these are allowed."""
    TRUE = auto()
    FALSE = auto()
    NULL = auto()


class MalformedJsonError(ValueError):
    """A text is no JSON, or is beyond Jackson's limits."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The liberties that a text may take, as Jackson's features are named."""

    control_characters: bool = False
    non_numeric_numbers: bool = False
    leading_zeros: bool = False
    single_quotes: bool = True


HIVE = Dialect(control_characters=True)
"""The dialect of `get_json_object` and its like."""


@dataclass(slots=True)
class Tokens:
    """The tokens of the first value of a text.

    `texts` are names, strings, and numbers as they are written. `ends` has the place of the last token of each value:
    for containers, of their end.
    """

    kinds: list[TokenKind] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, kind: TokenKind, text: str = "") -> None:
        """Append a token that is its own end."""
        self.ends.append(len(self.kinds))
        self.kinds.append(kind)
        self.texts.append(text)

    def parts(self, start: int) -> Iterator[int]:
        """Return the places of an array's elements, or of an object's names, which stand before its values."""
        named = self.kinds[start] is TokenKind.OBJECT
        place = start + 1
        while place < self.ends[start]:
            yield place
            place = self.ends[place + named] + 1


_SPACE = re.compile(r"[ \t\r\n]*+")
_NUMBER = re.compile(r"-?+([0-9]++)(\.[0-9]++)?+([eE][+-]?+[0-9]++)?+")
_STRING = {quote: re.compile(rf"{quote}([^{quote}\\]*+){quote}") for quote in "\"'"}
_ESCAPED = {quote: re.compile(rf"(?s){quote}((?:[^{quote}\\]++|\\.)*+){quote}") for quote in "\"'"}
_CONTROL = re.compile("[\x00-\x1f]")
_ESCAPE = re.compile(r"(?s)\\(u[0-9a-fA-F]{4}|.)")
_PLAIN_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "/": "/", "\\": "\\"}
_WORDS = {"true": TokenKind.TRUE, "false": TokenKind.FALSE, "null": TokenKind.NULL}
_WORD = re.compile("true|false|null")
_NON_NUMERIC = re.compile("NaN|Infinity|[+-](?:INF|Infinity)")
_IDENTIFIER_PARTS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Nd", "Sc", "Pc", "Mn", "Mc", "Cf", "Cc"})


def tokens(text: str, dialect: Dialect) -> Tokens | None:
    """Read the first value of a text; None if it holds nothing but spaces.

    Raises:
        MalformedJsonError: The value is no JSON.
    """
    return _Reader(text, dialect).read()


class _Reader:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._quotes = ('"', "'") if dialect.single_quotes else ('"',)
        self._at = 0
        self._found = Tokens()

    def read(self) -> Tokens | None:
        if not self._next():
            return None
        opened: list[int] = []
        found = self._found
        self._value(opened)
        while opened:
            start = opened[-1]
            is_object = found.kinds[start] is TokenKind.OBJECT
            sign = self._next()
            if sign == ("}" if is_object else "]"):
                self._at += 1
                opened.pop()
                found.ends[start] = len(found.kinds)
                found.add(TokenKind.END_OBJECT if is_object else TokenKind.END_ARRAY)
                continue
            if len(found.kinds) - 1 > start:
                if sign != ",":
                    raise MalformedJsonError
                self._at += 1
            if is_object:
                self._name()
            self._next()
            self._value(opened)
        return found

    def _next(self) -> str:
        """Go to the next character behind spaces, and return it; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _value(self, opened: list[int]) -> None:
        found, sign = self._found, self._text[self._at : self._at + 1]
        if sign in ("{", "["):
            if sign and len(opened) >= MAX_DEPTH:
                raise MalformedJsonError
            opened.append(len(found.kinds))
            found.add(TokenKind.OBJECT if sign == "{" else TokenKind.ARRAY)
            self._at += 1
        elif sign in self._quotes:
            found.add(TokenKind.STRING, self._string(sign))
        elif sign.isdecimal() or sign == "-":
            self._number(root=not opened)
        else:
            self._other()

    def _other(self) -> None:
        word = _WORD.match(self._text, self._at)
        if word:
            self._found.add(_WORDS[word[0]])
        else:
            word = _NON_NUMERIC.match(self._text, self._at) if self._dialect.non_numeric_numbers else None
            if word is None:
                raise MalformedJsonError
            self._found.add(TokenKind.FLOAT, word[0])
        self._at = word.end()
        if _continues(self._text[self._at : self._at + 1]):
            raise MalformedJsonError

    def _number(self, *, root: bool) -> None:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            self._other()
            return
        digits, fraction, exponent = match[1], match[2] or "", match[3] or ""
        if len(digits) > 1 and digits[0] == "0":
            if not self._dialect.leading_zeros:
                raise MalformedJsonError
            digits = digits.lstrip("0") or "0"
        following = self._text[match.end() : match.end() + 1]
        if (
            len(digits) + max(0, len(fraction) - 1) + _length(exponent) > MAX_NUMBER_LENGTH
            or following in (*"eE", *("." if not (fraction or exponent) else ""))
            or (root and following not in ("", *" \t\r\n"))
        ):
            raise MalformedJsonError
        sign = "-" if match[0][0] == "-" else ""
        kind = TokenKind.FLOAT if fraction or exponent else TokenKind.INTEGER
        self._found.add(kind, sign + digits + fraction + exponent)
        self._at = match.end()

    def _name(self) -> None:
        sign = self._next()
        if sign not in self._quotes:
            raise MalformedJsonError
        name = self._string(sign)
        if _units(name) > MAX_NAME_LENGTH or self._next() != ":":
            raise MalformedJsonError
        self._at += 1
        self._found.add(TokenKind.NAME, name)

    def _string(self, quote: str) -> str:
        match = _STRING[quote].match(self._text, self._at)
        if match is None:
            match = _ESCAPED[quote].match(self._text, self._at)
            if match is None:
                raise MalformedJsonError
            text = self._unescaped(match[1])
        else:
            text = match[1]
        if not self._dialect.control_characters and _CONTROL.search(match[1]):
            raise MalformedJsonError
        self._at = match.end()
        return text

    def _unescaped(self, text: str) -> str:
        decoded = _ESCAPE.sub(self._meaning, text)
        # What was escaped as two halves is one character; a half alone stays as it is.
        return decoded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def _meaning(self, escape: re.Match[str]) -> str:
        sign = escape[1]
        if len(sign) > 1:
            return chr(int(sign[1:], 16))
        if sign in _PLAIN_ESCAPES:
            return _PLAIN_ESCAPES[sign]
        if sign == "'" and self._dialect.single_quotes:
            return sign
        raise MalformedJsonError


def _units(text: str) -> int:
    """Return the length of a text as Java counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _length(exponent: str) -> int:
    return len(exponent) - 1 - (exponent[1:2] in ("+", "-")) if exponent else 0


def _continues(sign: str) -> bool:
    """Return whether a character behind a word makes it another word."""
    return sign >= "0" and sign not in "]}" and unicodedata.category(sign) in _IDENTIFIER_PARTS
