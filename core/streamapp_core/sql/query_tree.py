"""The tree of a query. Its expressions are places in the text, so that whatever is wrong can be shown there."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

_SHOWN = 60
"""Characters of what is quoted in a message."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text: the offset where it starts, and the one behind its end."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumber:
    """`row_number() over (partition by ... order by ...)`; `order` is the list behind `order by`.

    Without `partition`, all rows are one group.
    """

    partition: tuple[Span, ...]
    order: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRows:
    """`over (partition by ... order by ... rows between 9 preceding and current row)` behind an aggregate.

    `frame` is what stands behind the order; None: nothing.
    """

    partition: tuple[Span, ...]
    order: Span
    frame: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of a select list: an expression, the number of a row, or an aggregate over the last rows of each row.

    `place` includes its name; `expression` is that of the aggregate alone.
    """

    place: Span
    expression: Span
    name: str | None
    row_number: RowNumber | None = None
    last_rows: LastRows | None = None

    @property
    def window(self) -> RowNumber | LastRows | None:
        """The window behind `over`."""
        return self.row_number or self.last_rows


class JoinKind(StrEnum):
    """The sides of a join whose rows are selected even without a partner."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One of the rows behind `from`: a stream, operator, table or query by its name, or a query in parentheses.

    `on` are the conditions of its join with those before it; of the first it has none.
    """

    place: Span
    relation: "str | Query"
    alias: str | None
    join: JoinKind = JoinKind.INNER
    on: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTtl:
    """The length of time for which a `select` remembers what it keeps of its sources; `length` is as a spec has it."""

    place: Span
    sources: tuple[tuple[Span, str], ...]
    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """One `select`. `where` and `having` are the conditions that `and` connects."""

    ttl: StateTtl | None
    distinct: bool
    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    where: tuple[Span, ...]
    group_by: tuple[Span, ...]
    having: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One selection, or several whose rows are put together by `union all`; `named` are the queries of its `with`."""

    place: Span
    selections: tuple["Selection | Query", ...]
    named: tuple[tuple[str, "Query"], ...] = ()


class SqlIssue(Exception):  # noqa: N818 - a signal inside the packages of SQL, not an error for users
    """Something in a text is refused; `unknown`: it names a column that is not there."""

    def __init__(self, span: Span, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.span = span
        self.message = message
        self.unknown = unknown


def located(text: str, issue: SqlIssue) -> str:
    """Return the message of an issue behind its line, its column and the text that is meant."""
    start = min(issue.span.start, len(text))
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    quoted = " ".join(text[issue.span.start : issue.span.end].split())
    shown = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}…"
    return f"line {line}, column {column}{f', `{shown}`' if shown else ''}: {issue.message}"


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
