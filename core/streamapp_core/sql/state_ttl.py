"""Hints of a query: `select /*+ STATE_TTL('b' = '30d') */`, how long what a query keeps of a source is remembered.

The syntax is Flink's (Flink's documentation, "SQL Hints").
"""

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.expressions.parsing import tokenize
from streamapp_core.spec.base import format_duration, parse_duration
from streamapp_core.sql.query_tree import Span, SqlIssue, StateTtl
from streamapp_core.sql.time_lengths import read_length
from streamapp_core.sql.token_cursor import TokenCursor

_T = TokenType
_NAME = "state_ttl"
_USAGE = "STATE_TTL('a' = '30d', 'b' = '30d'), with the names of the sources behind `from`"
_OPENING, _CLOSING = len("/*+"), len("*/")


def read_hints(text: str, hint: Token) -> StateTtl:
    """Read the hints behind a `select`.

    Raises:
        SqlIssue: there are others than STATE_TTL, or it is written otherwise.
    """
    place = Span(hint.start, hint.end + 1)
    inner = Span(place.start + _OPENING, place.end - _CLOSING)
    try:
        tokens = tokenize(" " * inner.start + text[inner.start : inner.end])
    except SqlglotError:
        raise SqlIssue(place, f"a hint is {_USAGE}") from None
    return _Hints(text[: inner.end], tokens).read(place)


class _Hints(TokenCursor):
    """Reads `NAME(source = length, ...), ...`."""

    def read(self, place: Span) -> StateTtl:
        entries: list[tuple[Span, str, Span, str]] = []
        while not entries or self.take(_T.COMMA):
            entries += self._hint()
        if self.peek() is not None:
            raise self.refused("`,` or the end of the hints, `*/`, is expected")
        _, _, _, length = entries[0]
        for _, _, at, other in entries:
            if other != length:
                raise SqlIssue(
                    at,
                    f"it is {length} of another source: what one `select` keeps of its sources ends alike; write one "
                    "length, or a query in parentheses with a hint of its own",
                )
        return StateTtl(place=place, sources=tuple((at, name) for at, name, _, _ in entries), length=length)

    def _hint(self) -> list[tuple[Span, str, Span, str]]:
        first = self.next
        name = self.name(f"a hint is expected: {_USAGE}")
        if name.lower() != _NAME:
            self.next = first
            raise self.refused(f"the one hint is {_USAGE}")
        self.expect(_T.L_PAREN, f"the hint is {_USAGE}")
        entries: list[tuple[Span, str, Span, str]] = []
        while not entries or self.take(_T.COMMA):
            entries.append(self._entry())
        self.expect(_T.R_PAREN, "`,` or the end of the hint, `)`, is expected")
        return entries

    def _entry(self) -> tuple[Span, str, Span, str]:
        first = self.next
        source = self._text() or self.name(f"the name of a source is expected: {_USAGE}")
        place = self.since(first)
        self.expect(_T.EQ, f"`=` and a length of time are expected: {_USAGE}")
        at = self.next
        written = self._text()
        length = None if written is None else _read(written)
        if length is None:
            self.next = at
            raise self.refused("write lengths of time as '30d', '12 hours' or 'forever'")
        return place, source, self.since(at), length

    def _text(self) -> str | None:
        """Pass a text in quotes, if one is next, and return it."""
        token = self.peek()
        return token.text if token is not None and self.take(_T.STRING) else None


def _read(written: str) -> str | None:
    """Return a length of time as a spec has it; None if it is none."""
    if written.lower() == "forever":
        return "forever"
    length = read_length(written)
    if length is not None:
        return format_duration(length)
    try:
        return format_duration(parse_duration(written))
    except ValueError:
        return None
