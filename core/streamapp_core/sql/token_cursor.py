"""The tokens of a query, and the place of the next one: what parsers of clauses read from."""

from collections.abc import Callable, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.sql.query_tree import Span, SqlIssue
from streamapp_core.sql.refused_clauses import REFUSED_CLAUSES

_T = TokenType
_OPENING = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE, _T.CASE})
CLOSING = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE, _T.END})
"""The ends of what stands together."""
JOINING = frozenset({_T.JOIN, _T.INNER, _T.LEFT, _T.RIGHT, _T.FULL, _T.CROSS, _T.NATURAL, _T.SEMI, _T.ANTI})
"""The words that may begin a join."""
_FRAMES = frozenset({_T.ROWS, _T.RANGE})
_ALSO_FUNCTIONS = frozenset({_T.LEFT, _T.RIGHT})
_ENDS = frozenset(
    {
        _T.FROM,
        _T.WHERE,
        _T.GROUP_BY,
        _T.HAVING,
        _T.UNION,
        _T.COMMA,
        _T.R_PAREN,
        _T.SEMICOLON,
        _T.ON,
        *REFUSED_CLAUSES,
        *JOINING,
    }
)
"""Before these an expression ends, outside of parentheses."""


class TokenCursor:
    """Reads tokens in their order; `next` is the number of the one that comes next."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.next = 0

    def expression(self, *, over: bool = False, commas: bool = False, frame: bool = False) -> Span:
        """Pass an expression and return its place; with `commas` a list of them, with `frame` one before a frame."""
        first, depth = self.next, 0
        while (token := self.peek()) is not None:
            kind = token.token_type
            if depth == 0 and kind in _ENDS and not self._inside(kind, first) and not (commas and kind is _T.COMMA):
                break
            if frame and depth == 0 and kind in _FRAMES and self.next > first:
                break
            if kind is _T.SELECT:
                raise self.refused(
                    "a query inside an expression can't be planned; join it, as a query in parentheses behind `from`"
                )
            if kind is _T.OVER and not over:
                raise self.refused("window functions stand in a select list: name it there, in a query behind `from`")
            depth += depth_change(token, self.tokens[self.next - 1])
            self.next += 1
        if self.next == first:
            self._refuse_clause()
            raise self.refused("an expression is expected")
        return self.since(first)

    def _inside(self, kind: TokenType, first: int) -> bool:
        """Return whether a word that ends expressions is a part of this one."""
        before = self.tokens[self.next - 1].token_type if self.next > first else None
        if kind is _T.FROM:
            return before is _T.DISTINCT
        if before is _T.DOT or (kind is _T.EXCEPT and before is _T.STAR):
            return True
        after = self.tokens[self.next + 1].token_type if self.next + 1 < len(self.tokens) else None
        if kind in _ALSO_FUNCTIONS:
            return after is _T.L_PAREN
        return kind is _T.WINDOW and after in (_T.L_PAREN, _T.DOT, _T.COMMA, _T.FROM, _T.ALIAS, None)

    def _refuse_clause(self) -> None:
        token = self.peek()
        if token is not None and token.token_type in REFUSED_CLAUSES:
            raise self.refused(REFUSED_CLAUSES[token.token_type])

    def refused(self, message: str, end: int | None = None) -> SqlIssue:
        """Return the issue of the next token, or of all up to another one."""
        if self.next >= len(self.tokens):
            return SqlIssue(Span(len(self.text), len(self.text)), f"the text ends too early: {message}")
        last = min(max(end or 0, self.next + 1), len(self.tokens)) - 1
        return SqlIssue(Span(self.tokens[self.next].start, self.tokens[last].end + 1), message)

    def peek(self) -> Token | None:
        """Return the next token; None at the end of the text."""
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def at(self, *kinds: TokenType) -> bool:
        """Return whether the next token is of one of these kinds."""
        token = self.peek()
        return token is not None and token.token_type in kinds

    def take(self, *kinds: TokenType) -> bool:
        """Pass tokens of these kinds, one after the other, if they are next."""
        following = [token.token_type for token in self.tokens[self.next : self.next + len(kinds)]]
        if following != list(kinds):
            return False
        self.next += len(kinds)
        return True

    def expect(self, kind: TokenType, message: str) -> None:
        """Pass a token of this kind; if another one is next, refuse it with a message."""
        if not self.take(kind):
            self._refuse_clause()
            raise self.refused(message)

    def name(self, message: str) -> str:
        """Pass a name and return it; without one, refuse with a message."""
        token = self.peek()
        if token is None or not (token.token_type is _T.IDENTIFIER or _is_word(token.text)) or self.at(*_ENDS):
            raise self.refused(message)
        self.next += 1
        return token.text

    def since(self, first: int) -> Span:
        """Return the place of the tokens from one on that have been passed."""
        return Span(self.tokens[first].start, self.tokens[self.next - 1].end + 1)


def _is_word(text: str) -> bool:
    return text.replace("_", "a").isalnum() and not text[0].isdigit()


def split_conjuncts(tokens: Sequence[Token], whole: Span) -> tuple[Span, ...]:
    """Split a condition at the `and`s outside of parentheses; one with an `or` there stays as it is."""
    parts = split_at(tokens, lambda token: token.token_type is _T.AND)
    or_outside = len(split_at(tokens, lambda token: token.token_type is _T.OR)) > 1
    if or_outside or len(parts) == 1:
        return (whole,)
    return tuple(Span(part[0].start, part[-1].end + 1) for part in parts if part)


def depth_change(token: Token, before: Token | None) -> int:
    """Return whether a token begins (1) or ends (-1) what stands together; a name behind a point does not."""
    if before is not None and before.token_type is _T.DOT:
        return 0
    return (token.token_type in _OPENING) - (token.token_type in CLOSING)


def split_at(tokens: Sequence[Token], separates: Callable[[Token], bool]) -> list[list[Token]]:
    """Split tokens at those that separate, outside of parentheses; the `and` of a `between` does not."""
    parts: list[list[Token]] = [[]]
    depth = betweens = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        depth += depth_change(token, before)
        if depth == 0 and token.token_type is _T.BETWEEN:
            betweens += 1
        if depth == 0 and token.token_type is _T.AND and betweens:
            betweens -= 1
        elif depth == 0 and separates(token):
            parts.append([])
            continue
        parts[-1].append(token)
    return parts
