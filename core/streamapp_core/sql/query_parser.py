"""From the text of a query to its tree: the clauses are read here, the expressions in them as everywhere else.

Spark's SQL knows many more clauses. Each that is not in this grammar is refused with what to write instead.
"""

import difflib
from collections.abc import Callable, Collection, Sequence

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.expressions.parsing import MAX_NESTING, MAX_TEXT_LENGTH, tokenize
from streamapp_core.near_names import did_you_mean
from streamapp_core.sql.query_tree import Item, JoinKind, Query, RowNumber, Selection, Source, Span, SqlIssue

_T = TokenType
_OPENING = frozenset({_T.L_PAREN, _T.L_BRACKET, _T.L_BRACE, _T.CASE})
_CLOSING = frozenset({_T.R_PAREN, _T.R_BRACKET, _T.R_BRACE, _T.END})
_JOINING = frozenset({_T.JOIN, _T.INNER, _T.LEFT, _T.RIGHT, _T.FULL, _T.CROSS, _T.NATURAL, _T.SEMI, _T.ANTI})
_OUTER = {_T.LEFT: JoinKind.LEFT, _T.RIGHT: JoinKind.RIGHT, _T.FULL: JoinKind.FULL}
_ALSO_FUNCTIONS = frozenset({_T.LEFT, _T.RIGHT})
_NEVER = {
    _T.ORDER_BY: "a stream has no end to sort at; leave it out, or take the first rows of each group: "
    "row_number() over (partition by ... order by ...) in a subquery, and its number <= n outside",
    _T.LIMIT: "a stream has no first rows; take the first of each group by row_number() in a subquery",
    _T.OFFSET: "a stream has no first rows; leave it out",
    _T.SORT_BY: "a stream has no end to sort at; leave it out",
    _T.CLUSTER_BY: "rows are put together where that is needed; leave it out",
    _T.DISTRIBUTE_BY: "rows are put together where that is needed; leave it out",
    _T.LATERAL: "write the generator in the select list: explode(tags) as tag",
    _T.QUALIFY: "write the condition behind `where` of a query around this one",
    _T.WINDOW: "write the window behind `over`: row_number() over (partition by ... order by ...)",
    _T.EXCEPT: "rows that are in one result and not in another are known at the end only; leave it out",
    _T.INTERSECT: "join the two queries by their columns",
    _T.PIVOT: "write an aggregate for each column: sum(a) filter (where b = 'x') as x",
    _T.UNPIVOT: "use explode in the select list",
    _T.TABLE_SAMPLE: "a sample differs each time; filter by a hash of a column",
}
"""Clauses that can't be planned, and what to write instead."""
_ENDS = frozenset(
    {_T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.UNION, _T.COMMA, _T.R_PAREN, _T.SEMICOLON, _T.ON, *_NEVER, *_JOINING}
)
"""Before these an expression ends, outside of parentheses."""
_CLAUSES = ("where", "group by", "having", "union all", "join", "left join")
_MAX_QUERIES = 100


def parse_query(text: str) -> Query:
    """Parse a text that is one query.

    Raises:
        SqlIssue: the first thing in it that is not in the grammar.
    """
    whole = Span(0, 0)
    if len(text) > MAX_TEXT_LENGTH:
        raise SqlIssue(whole, f"the text has {len(text)} characters, {MAX_TEXT_LENGTH} is the most")
    try:
        tokens = tokenize(text)
    except SqlglotError:
        raise SqlIssue(whole, "it is not SQL: a quote or a comment may lack its end") from None
    return _Parser(text, tokens).whole()


class _Parser:
    """The tokens of a text, and the place of the next one."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._queries = 0

    def whole(self) -> Query:
        first = self._peek()
        if first is not None and first.token_type not in (_T.SELECT, _T.WITH, _T.L_PAREN):
            raise self._refused("an operator is one query: it begins with `select` or `with`")
        query = self._query()
        self._take(_T.SEMICOLON)
        if self._peek() is not None:
            raise self._refused("one query is expected, and this stands behind its end")
        return query

    def _query(self) -> Query:
        start = self._next
        self._queries += 1
        self._depth += 1
        if self._depth > MAX_NESTING or self._queries > _MAX_QUERIES:
            raise self._refused(f"at most {_MAX_QUERIES} queries, {MAX_NESTING} in each other; split it into operators")
        named = self._named() if self._take(_T.WITH) else ()
        selections = [self._branch()]
        while self._take(_T.UNION):
            if not self._take(_T.ALL):
                self._next -= 1
                raise self._refused("write `union all`; for different rows only, `select distinct` around it")
            selections.append(self._branch())
        self._refuse_clause()
        self._depth -= 1
        return Query(place=self._since(start), selections=tuple(selections), named=named)

    def _named(self) -> tuple[tuple[str, Query], ...]:
        named: list[tuple[str, Query]] = []
        while not named or self._take(_T.COMMA):
            place = self._next
            name = self._name("a name for the query is expected")
            if name.lower() in {other.lower() for other, _ in named}:
                self._next = place
                raise self._refused("this name stands twice behind `with`")
            if self._at(_T.L_PAREN):
                raise self._refused("name the columns in the select list of the query: ... as name")
            self._expect(_T.ALIAS, "`as` and a query in parentheses are expected")
            named.append((name, self._in_parentheses()))
        return tuple(named)

    def _in_parentheses(self) -> Query:
        self._expect(_T.L_PAREN, "a query in parentheses is expected")
        query = self._query()
        self._expect(_T.R_PAREN, "the end of the query, `)`, is expected")
        return query

    def _branch(self) -> Selection | Query:
        return self._in_parentheses() if self._at(_T.L_PAREN) else self._selection()

    def _selection(self) -> Selection:
        self._expect(_T.SELECT, "`select` is expected")
        distinct = self._take(_T.DISTINCT)
        if distinct and self._at(_T.ON):
            raise self._refused("take the first row of each group by row_number() in a subquery")
        self._take(_T.ALL)
        items = [self._item()]
        while self._take(_T.COMMA):
            items.append(self._item())
        if not self._take(_T.FROM):
            self._refuse_clause()
            self._next = self._misspelled_from(self._next)
            raise self._refused("`from` and a stream or operator are expected")
        sources = self._sources()
        where = self._conjuncts() if self._take(_T.WHERE) else ()
        group_by = self._group_by() if self._take(_T.GROUP_BY) else ()
        having = self._expression() if self._take(_T.HAVING) else None
        return Selection(
            distinct=distinct,
            items=tuple(items),
            sources=tuple(sources),
            where=where,
            group_by=group_by,
            having=having,
        )

    def _misspelled_from(self, end: int) -> int:
        """Return the place where `from` was meant in a list that goes on behind a name, or else its end."""
        words = (_T.VAR, _T.IDENTIFIER)
        named = [
            at
            for at in range(1, end - 1)
            if _ends_value(self._tokens[at - 1]) and all(self._tokens[i].token_type in words for i in (at, at + 1))
        ]
        texts = {self._tokens[at].text.lower(): at for at in reversed(named)}
        close = difflib.get_close_matches("from", texts, n=1)
        return texts[close[0]] if close else min(named, default=end)

    def _item(self) -> Item:
        first = self._next
        place = self._expression(over=True)
        tokens = self._tokens[first : self._next]
        name, length = _alias(tokens)
        number = self._row_number(first, self._next - length)
        expression = Span(place.start, tokens[-1 - length].end + 1)
        return Item(place=place, expression=expression, name=name, row_number=number)

    def _row_number(self, first: int, end: int) -> RowNumber | None:
        """Read the only window function, which must be the whole item."""
        over = next((i for i in range(first, end) if self._tokens[i].token_type is _T.OVER), None)
        if over is None:
            return None
        after, self._next = self._next, first
        called = [token.text.lower() for token in self._tokens[first:over]]
        if called != ["row_number", "(", ")"]:
            raise self._refused(
                "of window functions there is row_number() over (partition by ... order by ...), as an item alone; "
                "for others use group by",
                end,
            )
        self._next = over + 1
        self._expect(_T.L_PAREN, "(partition by ... order by ...) is expected")
        partition: list[Span] = []
        if self._take(_T.PARTITION_BY):
            partition.append(self._expression())
            while self._take(_T.COMMA):
                partition.append(self._expression())
        self._expect(_T.ORDER_BY, "`order by` is expected")
        order = self._expression(commas=True)
        self._expect(_T.R_PAREN, "the end, `)`, is expected: row_number() has no frame (rows between ...)")
        if self._next != end:
            raise self._refused("row_number() over (...) is an item of its own; compute with it in a query around this")
        self._next = after
        return RowNumber(partition=tuple(partition), order=order)

    def _group_by(self) -> tuple[Span, ...]:
        if self._at(_T.ALL):
            raise self._refused("name the columns of the groups")
        groups: list[Span] = []
        while not groups or self._take(_T.COMMA):
            first = self._next
            groups.append(self._expression())
            words = [token.text.lower() for token in self._tokens[first : self._next]]
            if words[0] in ("grouping sets", "rollup", "cube") or words[-1] in ("rollup", "cube"):
                self._next = first
                raise self._refused("write one operator for each way of grouping, and put them together by union all")
        return tuple(groups)

    def _sources(self) -> list[Source]:
        sources = [self._source(JoinKind.INNER)]
        while True:
            if self._take(_T.COMMA) or self._take(_T.CROSS, _T.JOIN):
                sources.append(self._source(JoinKind.INNER))
            elif self._take(_T.JOIN) or self._take(_T.INNER, _T.JOIN):
                sources.append(self._source(JoinKind.INNER, on=True))
            elif (outer := self._outer_join()) is not None:
                sources.append(self._source(outer, on=True))
            elif self._at(*_JOINING):
                raise self._refused("`join`, or `left join` of a table, is expected", self._next + 2)
            else:
                return sources

    def _outer_join(self) -> JoinKind | None:
        """Pass the words of an outer join, if they are next, and return its kind."""
        joins = (
            kind for word, kind in _OUTER.items() if self._take(word, _T.JOIN) or self._take(word, _T.OUTER, _T.JOIN)
        )
        return next(joins, None)

    def _source(self, join: JoinKind, *, on: bool = False) -> Source:
        first = self._next
        if self._at(_T.L_PAREN):
            relation: str | Query = self._in_parentheses()
        else:
            relation = self._name("a stream, an operator, a table, or a query in parentheses is expected")
            if self._at(_T.L_PAREN, _T.DOT):
                self._next = first
                raise self._refused("a stream, an operator, a table, or a query in parentheses is expected", first + 2)
        alias = None
        if self._take(_T.ALIAS) or ((token := self._peek()) and token.token_type in (_T.VAR, _T.IDENTIFIER)):
            alias = self._name("a name is expected")
            if self._at(_T.L_PAREN):
                raise self._refused("name the columns in the select list of the query: ... as name")
            if self._at(_T.VAR, _T.IDENTIFIER):
                self._next -= bool(did_you_mean(alias, _CLAUSES))  # a misspelled clause is read as a name
                guess = did_you_mean(self._tokens[self._next].text, _CLAUSES)
                raise self._refused(f"`where`, `group by`, `having`, `union all` or a join is expected{guess}")
        conditions: tuple[Span, ...] = ()
        place = self._since(first)
        if on:
            if self._at(_T.USING):
                raise self._refused("write the condition: on a.key = b.key")
            self._expect(_T.ON, "the condition of the join is expected: on a.key = b.key")
            conditions = self._conjuncts()
        return Source(place=place, relation=relation, alias=alias, join=join, on=conditions)

    def _conjuncts(self) -> tuple[Span, ...]:
        """Read a condition, in the parts that `and` connects."""
        first = self._next
        whole = self._expression()
        return split_conjuncts(self._tokens[first : self._next], whole)

    def _expression(self, *, over: bool = False, commas: bool = False) -> Span:
        """Pass an expression and return its place."""
        first, depth = self._next, 0
        while (token := self._peek()) is not None:
            kind = token.token_type
            if depth == 0 and kind in _ENDS and not self._inside(kind, first) and not (commas and kind is _T.COMMA):
                break
            if kind is _T.SELECT:
                raise self._refused(
                    "a query inside an expression can't be planned; join it, as a query in parentheses behind `from`"
                )
            if kind is _T.OVER and not over:
                raise self._refused("window functions stand in a select list: name it there, in a query behind `from`")
            depth += depth_change(token, self._tokens[self._next - 1])
            self._next += 1
        if self._next == first:
            self._refuse_clause()
            raise self._refused("an expression is expected")
        return self._since(first)

    def _inside(self, kind: TokenType, first: int) -> bool:
        """Return whether a word that ends expressions is a part of this one."""
        before = self._tokens[self._next - 1].token_type if self._next > first else None
        if kind is _T.FROM:
            return before is _T.DISTINCT
        if before is _T.DOT or (kind is _T.EXCEPT and before is _T.STAR):
            return True
        after = self._tokens[self._next + 1].token_type if self._next + 1 < len(self._tokens) else None
        if kind in _ALSO_FUNCTIONS:
            return after is _T.L_PAREN
        return kind is _T.WINDOW and after in (_T.L_PAREN, _T.DOT, _T.COMMA, _T.FROM, _T.ALIAS, None)

    def _refuse_clause(self) -> None:
        token = self._peek()
        if token is not None and token.token_type in _NEVER:
            raise self._refused(_NEVER[token.token_type])

    def _refused(self, message: str, end: int | None = None) -> SqlIssue:
        """Make the issue of the next token, or of all up to another one."""
        if self._next >= len(self._tokens):
            return SqlIssue(Span(len(self._text), len(self._text)), f"the text ends too early: {message}")
        last = min(max(end or 0, self._next + 1), len(self._tokens)) - 1
        return SqlIssue(Span(self._tokens[self._next].start, self._tokens[last].end + 1), message)

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _at(self, *kinds: TokenType) -> bool:
        token = self._peek()
        return token is not None and token.token_type in kinds

    def _take(self, *kinds: TokenType) -> bool:
        """Pass tokens of these kinds, one after the other, if they are next."""
        following = [token.token_type for token in self._tokens[self._next : self._next + len(kinds)]]
        if following != list(kinds):
            return False
        self._next += len(kinds)
        return True

    def _expect(self, kind: TokenType, message: str) -> None:
        if not self._take(kind):
            self._refuse_clause()
            raise self._refused(message)

    def _name(self, message: str) -> str:
        token = self._peek()
        if token is None or not (token.token_type is _T.IDENTIFIER or _is_word(token.text)) or self._at(*_ENDS):
            raise self._refused(message)
        self._next += 1
        return token.text

    def _since(self, first: int) -> Span:
        return Span(self._tokens[first].start, self._tokens[self._next - 1].end + 1)


def _is_word(text: str) -> bool:
    return text.replace("_", "a").isalnum() and not text[0].isdigit()


def _alias(tokens: Sequence[Token]) -> tuple[str | None, int]:
    """Return the name at the end of an item, and how many tokens it takes."""
    if len(tokens) > 2 and tokens[-2].token_type is _T.ALIAS:  # noqa: PLR2004 - what is named, `as`, the name
        return tokens[-1].text, 2
    if len(tokens) > 1 and tokens[-1].token_type in (_T.VAR, _T.IDENTIFIER) and _ends_value(tokens[-2]):
        return tokens[-1].text, 1
    return None, 0


def _ends_value(token: Token) -> bool:
    kinds = (_T.VAR, _T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.NULL, _T.TRUE, _T.FALSE)
    return token.token_type in _CLOSING or token.token_type in kinds


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
    return (token.token_type in _OPENING) - (token.token_type in _CLOSING)


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


def relation_names(query: Query, named: Collection[str] = ()) -> set[str]:
    """Return the streams, operators and tables that a query reads."""
    known = {name.lower() for name in named}
    names: set[str] = set()
    for name, inner in query.named:
        names |= relation_names(inner, known)
        known.add(name.lower())
    for selection in query.selections:
        if isinstance(selection, Query):
            names |= relation_names(selection, known)
            continue
        for source in selection.sources:
            if isinstance(source.relation, Query):
                names |= relation_names(source.relation, known)
            elif source.relation.lower() not in known:
                names.add(source.relation)
    return names
