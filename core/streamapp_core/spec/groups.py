"""Operators over groups of rows: aggregates, rankings, duplicates, windows."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from streamapp_core.spec.base import BOUNDED_TWICE, ColumnName, Duration, Expression, SpecModel, Ttl


class Aggregate(SpecModel):
    """Running results per key: each batch emits the new result of every key in it."""

    by: Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=100, description="The columns of a group.")]
    select: Expression
    ttl: Ttl | None = None


class Ranking(SpecModel):
    """The first rows by an order: columns or expressions, each with `desc` if the greatest comes first."""

    order_by: Annotated[Expression, Field(description="As in SQL: `price desc, at`. Of equal rows the least is first.")]
    n: Annotated[int, Field(ge=1, le=1000, description="How many rows are kept.")]
    rank: Annotated[ColumnName | None, Field(description="A column to add: the place of the row, from 1.")] = None


class TopN(Ranking):
    """The first n rows of each group so far, emitted again where they change."""

    by: Annotated[
        tuple[ColumnName, ...],
        Field(min_length=1, max_length=100, description="The columns of a group: each has its own first rows."),
    ]
    ttl: Ttl | None = None


class WindowTopN(Ranking):
    """The first n rows of each group of a window."""

    ties: Annotated[bool, Field(description="Also take all rows that are equal to the n-th in the order.")] = False


class Keep(StrEnum):
    """The row of a key that stays."""

    FIRST = "first"
    LAST = "last"


class Dedup(SpecModel):
    """One row of each key: the first to come, or the one with the latest event time."""

    by: Annotated[
        tuple[ColumnName, ...],
        Field(min_length=1, max_length=100, description="The columns whose values are kept once."),
    ]
    keep: Keep = Keep.FIRST
    within: Annotated[
        Duration | None,
        Field(
            description="How far apart in event time rows of a key may be to be duplicates of each other. Without it "
            "all are, and every key is kept."
        ),
    ] = None

    ttl: Ttl | None = None

    @model_validator(mode="after")
    def _first_within(self) -> Self:
        if self.within is not None and self.ttl is not None:
            raise ValueError(BOUNDED_TWICE)
        if self.within is not None and self.keep is Keep.LAST:
            raise ValueError("`within` belongs to `keep: first`; leave it out, or use a window with `topN`")
        return self


class Over(SpecModel):
    """Aggregates over the last rows of a key up to each row, beside the columns of the row."""

    by: Annotated[
        tuple[ColumnName, ...],
        Field(min_length=1, max_length=100, description="The columns of a key: each has its own last rows."),
    ]
    order_by: Annotated[
        Expression | None,
        Field(description="The order of running results. Without it rows go by event time, and each stays as it is."),
    ] = None
    rows: Annotated[int | None, Field(ge=1, le=1000, description="The most rows that count, this one among them.")] = (
        None
    )
    range_: Annotated[
        Ttl | None,
        Field(
            alias="range",
            description="How much earlier in event time the first of them may be; `forever` says that `rows` alone "
            "bounds them.",
        ),
    ] = None
    select: Expression

    @property
    def reach(self) -> int | None:
        """The milliseconds of `range`; None: rows of any time count."""
        return self.range_ if isinstance(self.range_, int) else None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.rows is None and self.reach is None:
            raise ValueError("`over` needs `rows`, how many count, or `range`, how far back in event time they may be")
        if self.order_by is not None and (self.rows is None or self.range_ is not None):
            raise ValueError("`orderBy` goes with `rows` alone: `range` is of event time, which is an order already")
        return self


class WindowTime(StrEnum):
    """The time that puts rows into windows and closes them."""

    EVENT = "event"
    PROCESSING = "processing"


class EarlyEmit(SpecModel):
    """The time between two emissions of the results of open windows, by the time of day."""

    every: Duration


class Window(SpecModel):
    """Results per key and window of time, emitted once when the watermark passes, or that time of day has come."""

    tumbling: Duration | None = None
    sliding: Duration | None = None
    every: Duration | None = None
    session: Duration | None = None
    time: Annotated[
        WindowTime,
        Field(description="By event time, or by the time of day at which a row comes to the operator (`processing`)."),
    ] = WindowTime.EVENT
    by: Annotated[
        tuple[ColumnName, ...],
        Field(max_length=100, description="The columns of a group; without any all rows are one."),
    ] = ()
    select: Expression | None = None
    top_n: WindowTopN | None = None
    emit: Annotated[
        EarlyEmit | None,
        Field(description="Also emit results of windows that are still open, where they have changed."),
    ] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.select is None) == (self.top_n is None):
            raise ValueError("a window has either `select`, a list of aggregates, or `topN`, its first rows")
        if self.top_n is not None and self.session is not None:
            raise ValueError("`topN` is for tumbling and sliding windows; use `select` in a session")
        if self.emit is not None and (self.top_n is not None or self.session is not None):
            raise ValueError("`emit` is for tumbling and sliding windows with `select`: their bounds are known early")
        lengths = [length for length in (self.tumbling, self.sliding, self.session) if length is not None]
        if len(lengths) != 1:
            raise ValueError("a window is exactly one of tumbling, sliding and session")
        if (self.sliding is None) != (self.every is None):
            raise ValueError("sliding and every belong together: `sliding: 1h` with `every: 5m`")
        if min([*lengths, self.every or 1]) < 1:
            raise ValueError("a window is at least 1ms long")
        return self
