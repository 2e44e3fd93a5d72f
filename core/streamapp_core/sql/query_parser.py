"""From the text of a query to its tree: the clauses are read here, the expressions in them as everywhere else.

Spark's SQL knows many more clauses. Each that is not in this grammar is refused with what to write instead.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from streamapp_core.expressions.functions import AGGREGATE_NAMES
from streamapp_core.expressions.parsing import MAX_NESTING, MAX_TEXT_LENGTH, tokenize
from streamapp_core.near_names import did_you_mean
from streamapp_core.sql.query_tree import Item, JoinKind, LastRows, Query, RowNumber, Selection, Source, Span, SqlIssue
from streamapp_core.sql.refused_clauses import REFUSED_CLAUSES
from streamapp_core.sql.state_ttl import read_hints
from streamapp_core.sql.token_cursor import CLOSING, JOINING, TokenCursor, depth_change, split_conjuncts

_T = TokenType
_OUTER = {_T.LEFT: JoinKind.LEFT, _T.RIGHT: JoinKind.RIGHT, _T.FULL: JoinKind.FULL}
_CLAUSES = ("where", "group by", "having", "union all", "join", "left join")
_FLINKS_WINDOWS = ("table", "tumble", "hop", "cumulate", "session")
_LEFT_OUT = (_T.ORDER_BY, _T.SORT_BY, _T.CLUSTER_BY, _T.DISTRIBUTE_BY, _T.LIMIT, _T.OFFSET)
"""Clauses that say in which order rows come, and how many."""
_AFTER_CLAUSES = (*REFUSED_CLAUSES, _T.UNION, _T.R_PAREN, _T.SEMICOLON)
_MAX_QUERIES = 100
_INSTEAD_OF = {
    "lag": ". The value before is `first(...)` of the last two rows, if `count(*)` of them is 2: both in a query, "
    "`if(...)` in the one around it"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A text that was read: all that is not in the grammar, and the query without it; None: it has no end.

    What follows such a thing is read on where it means the same without it.
    """

    query: Query | None
    issues: tuple[SqlIssue, ...] = ()


def parse_query(text: str) -> ParsedQuery:
    """Parse a text that is to be one query."""
    issues: list[SqlIssue] = []
    try:
        query = _read(text, issues)
    except SqlIssue as issue:
        return ParsedQuery(query=None, issues=(*issues, issue))
    return ParsedQuery(query=query, issues=tuple(issues))


def _read(text: str, issues: list[SqlIssue]) -> Query:
    """Read a query; what is left out of it is added to `issues`.

    Raises:
        SqlIssue: it can't be read any further.
    """
    whole = Span(0, 0)
    if len(text) > MAX_TEXT_LENGTH:
        raise SqlIssue(whole, f"the text has {len(text)} characters, {MAX_TEXT_LENGTH} is the most")
    try:
        tokens = tokenize(text)
    except SqlglotError:
        raise SqlIssue(whole, "it is not SQL: a quote or a comment may lack its end") from None
    return _Parser(text, tokens, issues).whole()


class _Parser(TokenCursor):
    """Reads the clauses of queries."""

    def __init__(self, text: str, tokens: Sequence[Token], issues: list[SqlIssue]) -> None:
        super().__init__(text, tokens)
        self._issues = issues
        self._depth = 0
        self._queries = 0

    def whole(self) -> Query:
        first = self.peek()
        if first is not None and first.token_type not in (_T.SELECT, _T.WITH, _T.L_PAREN):
            raise self.refused("an operator is one query: it begins with `select` or `with`")
        query = self._query()
        self.take(_T.SEMICOLON)
        if self.peek() is not None:
            raise self.refused("one query is expected, and this stands behind its end")
        return query

    def _query(self) -> Query:
        start = self.next
        self._queries += 1
        self._depth += 1
        if self._depth > MAX_NESTING or self._queries > _MAX_QUERIES:
            raise self.refused(f"at most {_MAX_QUERIES} queries, {MAX_NESTING} in each other; split it into operators")
        named = self._named() if self.take(_T.WITH) else ()
        selections = [self._branch()]
        self._leave_out_clauses()
        while self.take(_T.UNION):
            if not self.take(_T.ALL):
                self.next -= 1
                self._issues.append(
                    self.refused("write `union all`; for different rows only, `select distinct` around it")
                )
                self.next += 1
                self.take(_T.DISTINCT)
            selections.append(self._branch())
            self._leave_out_clauses()
        self._refuse_clause()
        self._depth -= 1
        return Query(place=self.since(start), selections=tuple(selections), named=named)

    def _leave_out_clauses(self) -> None:
        """Pass the clauses without which a query has the same rows; each is an issue."""
        while self.at(*_LEFT_OUT):
            self._issues.append(self.refused(REFUSED_CLAUSES[self.tokens[self.next].token_type]))
            self.next += 1
            depth = 0
            while (token := self.peek()) is not None and (depth or not self.at(*_AFTER_CLAUSES)):
                depth += depth_change(token, self.tokens[self.next - 1])
                self.next += 1

    def _named(self) -> tuple[tuple[str, Query], ...]:
        named: list[tuple[str, Query]] = []
        while not named or self.take(_T.COMMA):
            place = self.next
            name = self.name("a name for the query is expected")
            if name.lower() in {other.lower() for other, _ in named}:
                self.next = place
                raise self.refused("this name stands twice behind `with`")
            if self.at(_T.L_PAREN):
                raise self.refused("name the columns in the select list of the query: ... as name")
            self.expect(_T.ALIAS, "`as` and a query in parentheses are expected")
            named.append((name, self._in_parentheses()))
        return tuple(named)

    def _in_parentheses(self) -> Query:
        self.expect(_T.L_PAREN, "a query in parentheses is expected")
        query = self._query()
        self.expect(_T.R_PAREN, "the end of the query, `)`, is expected")
        return query

    def _branch(self) -> Selection | Query:
        return self._in_parentheses() if self.at(_T.L_PAREN) else self._selection()

    def _selection(self) -> Selection:
        self.expect(_T.SELECT, "`select` is expected")
        hint = self.peek()
        ttl = read_hints(self.text, hint) if hint is not None and self.take(_T.HINT) else None
        distinct = self.take(_T.DISTINCT)
        if distinct and self.at(_T.ON):
            raise self.refused("take the first row of each group by row_number() in a subquery")
        self.take(_T.ALL)
        items = [self._item()]
        while self.take(_T.COMMA):
            items.append(self._item())
        if not self.take(_T.FROM):
            self._refuse_clause()
            self.next = self._misspelled_from(self.next)
            raise self.refused("`from` and a stream or operator are expected")
        sources = self._sources()
        where = self._conjuncts() if self.take(_T.WHERE) else ()
        group_by = self._group_by() if self.take(_T.GROUP_BY) else ()
        having = self.expression() if self.take(_T.HAVING) else None
        return Selection(
            ttl=ttl,
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
            if _ends_value(self.tokens[at - 1]) and all(self.tokens[i].token_type in words for i in (at, at + 1))
        ]
        texts = {self.tokens[at].text.lower(): at for at in reversed(named)}
        close = difflib.get_close_matches("from", texts, n=1)
        return texts[close[0]] if close else min(named, default=end)

    def _item(self) -> Item:
        first = self.next
        place = self.expression(over=True)
        tokens = self.tokens[first : self.next]
        name, length = _alias(tokens)
        window = self._window(first, self.next - length)
        if isinstance(window, LastRows):
            return Item(place=place, expression=self._called(first), name=name, last_rows=window)
        expression = Span(place.start, tokens[-1 - length].end + 1)
        return Item(place=place, expression=expression, name=name, row_number=window)

    def _called(self, first: int) -> Span:
        """Return the place of the aggregate before the next `over`."""
        over = next(i for i in range(first, len(self.tokens)) if self.tokens[i].token_type is _T.OVER)
        return Span(self.tokens[first].start, self.tokens[over - 1].end + 1)

    def _window(self, first: int, end: int) -> RowNumber | LastRows | None:
        """Read what stands behind `over`: a window function must be the whole item."""
        over = next((i for i in range(first, end) if self.tokens[i].token_type is _T.OVER), None)
        if over is None:
            return None
        after, self.next = self.next, first
        called = [token.text.lower() for token in self.tokens[first:over]]
        numbers = called == ["row_number", "(", ")"]
        if not numbers and called[0] not in AGGREGATE_NAMES:
            raise self.refused(
                "of window functions there are row_number() and the aggregates, as an item alone: "
                "f(...) over (partition by ... order by ...)" + _INSTEAD_OF.get(called[0], ""),
                end,
            )
        self.next = over + 1
        self.expect(_T.L_PAREN, "(partition by ... order by ...) is expected")
        partition: list[Span] = []
        if self.take(_T.PARTITION_BY):
            partition.append(self.expression())
            while self.take(_T.COMMA):
                partition.append(self.expression())
        self.expect(_T.ORDER_BY, "`order by` is expected")
        order = self.expression(commas=True, frame=True)
        frame = None if self.at(_T.R_PAREN) else self.expression()
        if numbers and frame is not None:
            raise SqlIssue(frame, "row_number() has no frame; leave it out")
        self.expect(_T.R_PAREN, "the end, `)`, is expected")
        if self.next != end:
            raise self.refused("a window function is an item of its own; compute with it in a query around this one")
        self.next = after
        if numbers:
            return RowNumber(partition=tuple(partition), order=order)
        return LastRows(partition=tuple(partition), order=order, frame=frame)

    def _group_by(self) -> tuple[Span, ...]:
        if self.at(_T.ALL):
            raise self.refused("name the columns of the groups")
        groups: list[Span] = []
        while not groups or self.take(_T.COMMA):
            first = self.next
            groups.append(self.expression())
            words = [token.text.lower() for token in self.tokens[first : self.next]]
            if words[0] in ("grouping sets", "rollup", "cube") or words[-1] in ("rollup", "cube"):
                self.next = first
                raise self.refused("write one operator for each way of grouping, and put them together by union all")
        return tuple(groups)

    def _sources(self) -> list[Source]:
        sources = [self._source(JoinKind.INNER)]
        while True:
            if self.take(_T.COMMA) or self.take(_T.CROSS, _T.JOIN):
                sources.append(self._source(JoinKind.INNER))
            elif self.take(_T.JOIN) or self.take(_T.INNER, _T.JOIN):
                sources.append(self._source(JoinKind.INNER, on=True))
            elif (outer := self._outer_join()) is not None:
                sources.append(self._source(outer, on=True))
            elif self.at(*JOINING):
                raise self.refused("`join`, or a `left`, `right` or `full join`, is expected", self.next + 2)
            else:
                return sources

    def _outer_join(self) -> JoinKind | None:
        """Pass the words of an outer join, if they are next, and return its kind."""
        joins = (
            kind for word, kind in _OUTER.items() if self.take(word, _T.JOIN) or self.take(word, _T.OUTER, _T.JOIN)
        )
        return next(joins, None)

    def _no_version(self) -> None:
        if self.at(_T.FOR):
            raise self.refused(
                "the version of a time is found by an operator of its own, a `join` with `asOf: true`; a table has the "
                "rows that are there now"
            )

    def _of_windows(self) -> str:
        """Return where windows stand, if the next token begins one as Flink writes it."""
        token = self.peek()
        flink = token is not None and token.text.lower() in _FLINKS_WINDOWS
        return "; a window stands behind `group by`: window(at, '1 hour')" if flink else ""

    def _source(self, join: JoinKind, *, on: bool = False) -> Source:
        first = self.next
        if self.at(_T.L_PAREN):
            relation: str | Query = self._in_parentheses()
        else:
            expected = f"a stream, an operator, a table, or a query in parentheses is expected{self._of_windows()}"
            relation = self.name(expected)
            if self.at(_T.L_PAREN, _T.DOT):
                self.next = first
                raise self.refused(expected, first + 2)
        self._no_version()
        alias = None
        if self.take(_T.ALIAS) or ((token := self.peek()) and token.token_type in (_T.VAR, _T.IDENTIFIER)):
            alias = self.name("a name is expected")
            if self.at(_T.L_PAREN):
                raise self.refused("name the columns in the select list of the query: ... as name")
            if self.at(_T.VAR, _T.IDENTIFIER):
                self.next -= bool(did_you_mean(alias, _CLAUSES))  # a misspelled clause is read as a name
                guess = did_you_mean(self.tokens[self.next].text, _CLAUSES)
                raise self.refused(f"`where`, `group by`, `having`, `union all` or a join is expected{guess}")
        self._no_version()
        conditions: tuple[Span, ...] = ()
        place = self.since(first)
        if on:
            if self.at(_T.USING):
                raise self.refused("write the condition: on a.key = b.key")
            self.expect(_T.ON, "the condition of the join is expected: on a.key = b.key")
            conditions = self._conjuncts()
        return Source(place=place, relation=relation, alias=alias, join=join, on=conditions)

    def _conjuncts(self) -> tuple[Span, ...]:
        """Read a condition, in the parts that `and` connects."""
        first = self.next
        whole = self.expression()
        return split_conjuncts(self.tokens[first : self.next], whole)


def _alias(tokens: Sequence[Token]) -> tuple[str | None, int]:
    """Return the name at the end of an item, and how many tokens it takes."""
    if len(tokens) > 2 and tokens[-2].token_type is _T.ALIAS:  # noqa: PLR2004 - what is named, `as`, the name
        return tokens[-1].text, 2
    if len(tokens) > 1 and tokens[-1].token_type in (_T.VAR, _T.IDENTIFIER) and _ends_value(tokens[-2]):
        return tokens[-1].text, 1
    return None, 0


def _ends_value(token: Token) -> bool:
    kinds = (_T.VAR, _T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.NULL, _T.TRUE, _T.FALSE)
    return token.token_type in CLOSING or token.token_type in kinds
