"""The expressions of a query: which columns they name, and their text with other names in the place of these."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.expressions import ExpressionError
from streamapp_core.expressions.aggregate_calls import JOINING, joins_collected
from streamapp_core.expressions.functions import AGGREGATE_NAMES, GENERATOR_NAMES, WITH_UNIT
from streamapp_core.expressions.parsing import parse_items, parse_ordering, tokenize
from streamapp_core.sql.query_tree import Span, SqlIssue

_SELECT = len("SELECT ")
_ORDER_BY = len("SELECT 1 ORDER BY ")
_PARTS = ("catalog", "db", "table", "this")
_WITH_UNIT = 3
"""Arguments of a function of which the first is a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A column that an expression names, as `alias.column.field`; `names_field`: a struct gets its name for a field."""

    parts: tuple[str, ...]
    spans: tuple[Span, ...]
    names_field: bool

    @property
    def span(self) -> Span:
        """The place of all its parts."""
        return Span(self.spans[0].start, self.spans[-1].end)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlExpression:
    """An expression at a place of a text (for an ordering: several)."""

    text: str
    span: Span
    nodes: tuple[exp.Expr, ...]
    references: tuple[Reference, ...]

    @property
    def node(self) -> exp.Expr:
        """The tree of what is one expression."""
        return self.nodes[0]

    @property
    def reference(self) -> Reference | None:
        """The column that this is, if it is nothing else."""
        node = self.node
        plain = isinstance(node, exp.Column) and not isinstance(node.this, exp.Star)
        return self.references[0] if plain and len(self.references) == 1 else None

    @property
    def is_star(self) -> bool:
        """Whether it means several columns: `*`, `alias.*`."""
        node = self.node
        return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))

    @property
    def has_inner_star(self) -> bool:
        """Whether `*` is an argument of a function, but for `count(*)`."""
        return any(
            isinstance(argument, exp.Star)
            for name, call in self._calls()
            if name != "count"
            for argument in call.expressions
        )

    @property
    def aggregates(self) -> bool:
        """Whether it calls an aggregate."""
        return any(
            name in AGGREGATE_NAMES or (name == JOINING and joins_collected(call)) for name, call in self._calls()
        )

    @property
    def generates(self) -> bool:
        """Whether it calls a generator."""
        return any(name in GENERATOR_NAMES for name, _ in self._calls())

    def _calls(self) -> Iterator[tuple[str, exp.Anonymous]]:
        for node in self.nodes:
            for call in node.find_all(exp.Anonymous):
                yield str(call.this).lower(), call

    @property
    def tokens(self) -> list[Token]:
        """Its tokens."""
        return tokenize(self.text[self.span.start : self.span.end])

    def rewritten(self, write: Callable[[Reference], str], others: Iterable[tuple[Span, str]] = ()) -> str:
        """Return its text with other texts in the place of columns, and of the parts that `others` names."""
        parts = [*others]
        parts += [
            (reference.span, write(reference))
            for reference in self.references
            if not any(span.start <= reference.span.start and reference.span.end <= span.end for span, _ in parts)
        ]
        written, at = "", self.span.start
        for span, replacement in sorted(parts, key=lambda part: part[0].start):
            written += self.text[at : span.start] + replacement
            at = span.end
        written += self.text[at : self.span.end]
        last = written.rsplit("\n", 1)[-1]
        return f"{written}\n" if "--" in last else written

    def occurrences(self, other: "SqlExpression") -> Iterator[Span]:
        """Find where another expression stands in this one, by its tokens, as a whole part of it."""
        sought, tokens = [_word(token) for token in other.tokens], self.tokens
        words = [_word(token) for token in tokens]
        call = _is_call(other.tokens)
        at = 0
        while at + len(sought) <= len(words):
            end = at + len(sought)
            if words[at:end] == sought and _apart(words, at, end, call=call):
                yield Span(self.span.start + tokens[at].start, self.span.start + tokens[end - 1].end + 1)
                at = end
            else:
                at += 1


def read_expression(text: str, span: Span) -> SqlExpression:
    """Read the expression at a place of a text.

    Raises:
        SqlIssue: it is no expression.
    """
    return _read(text, span, parse_items, _SELECT)


def read_ordering(text: str, span: Span) -> SqlExpression:
    """Read the list behind an `order by`.

    Raises:
        SqlIssue: it is no such list.
    """
    return _read(text, span, parse_ordering, _ORDER_BY)


def same_expression(first: SqlExpression, second: SqlExpression) -> bool:
    """Return whether two expressions are written alike, but for blanks and the case of words."""
    return [_word(token) for token in first.tokens] == [_word(token) for token in second.tokens]


def _read(text: str, span: Span, parse: Callable[[str], Sequence[exp.Expr]], shift: int) -> SqlExpression:
    """Read what is at a place of a text; `shift` is how much is put before it where it is parsed."""
    try:
        nodes = tuple(parse(_alone(text, span)))
    except ExpressionError as error:
        raise SqlIssue(span, str(error)) from None
    return SqlExpression(text=text, span=span, nodes=nodes, references=_references(nodes, shift))


def _alone(text: str, span: Span) -> str:
    """Return a text of which only one place is left, so that everything there keeps its line and column."""
    before = "".join(character if character == "\n" else " " for character in text[: span.start])
    return before + text[span.start : span.end]


def _references(nodes: Sequence[exp.Expr], shift: int) -> tuple[Reference, ...]:
    found = [_reference(column, shift) for node in nodes for column in node.find_all(exp.Column)]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.span.start))


def _reference(column: exp.Column, shift: int) -> Reference | None:
    """Return what a column names; None if it is a star, the unit of a function or the name of an argument."""
    identifiers = [part for name in _PARTS if isinstance(part := column.args.get(name), exp.Identifier)]
    parent = column.parent
    if isinstance(column.this, exp.Star) or (isinstance(parent, exp.Kwarg | exp.PropertyEQ) and parent.this is column):
        return None
    called = str(parent.this).lower() if isinstance(parent, exp.Anonymous) else ""
    arguments = parent.expressions if isinstance(parent, exp.Anonymous) else []
    if called in WITH_UNIT and len(arguments) == _WITH_UNIT and arguments[0] is column:
        return None
    return Reference(
        parts=tuple(str(identifier.this) for identifier in identifiers),
        spans=tuple(
            Span(identifier.meta["start"] - shift, identifier.meta["end"] + 1 - shift) for identifier in identifiers
        ),
        names_field=called == "struct",
    )


def _word(token: Token) -> tuple[bool, str]:
    literal = token.token_type is TokenType.STRING
    return literal, token.text if literal else token.text.lower()


def _is_call(tokens: Sequence[Token]) -> bool:
    """Return whether an expression is one call of a function, so that it is a whole part wherever it stands."""
    if len(tokens) < 3 or tokens[1].token_type is not TokenType.L_PAREN:  # noqa: PLR2004 - a name, ( and )
        return False
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if place > 0 and depth == 0:
            return place == len(tokens) - 1
    return False


def _apart(words: Sequence[tuple[bool, str]], at: int, end: int, *, call: bool) -> bool:
    """Return whether the words from a place to another one are a part of their own."""
    before = words[at - 1][1] if at else "("
    after = words[end][1] if end < len(words) else ")"
    return before != "." if call else before in ("(", ",") and after in (")", ",")
