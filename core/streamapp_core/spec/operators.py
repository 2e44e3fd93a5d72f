"""Operators: the steps of the graph. Each has a name, what it reads from, and exactly one kind."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from streamapp_core.spec.base import (
    BOUNDED_TWICE,
    Duration,
    Expression,
    FunctionName,
    KeyColumns,
    Name,
    SchemaText,
    SpecModel,
    SqlText,
    Text,
    Ttl,
    key_columns,
)
from streamapp_core.spec.groups import Aggregate, Dedup, Over, TopN, Window


class OperatorKind(StrEnum):
    """The kinds of operators, as their fields are called in YAML."""

    FILTER = "filter"
    MAP = "map"
    FLAT_MAP = "flatMap"
    MERGE = "merge"
    PARTITION_BY = "partitionBy"
    BROADCAST = "broadcast"
    JOIN = "join"
    JOIN_TABLE = "joinTable"
    SEND_TO_TABLE = "sendToTable"
    AGGREGATE = "aggregate"
    TOP_N = "topN"
    DEDUP = "dedup"
    OVER = "over"
    WINDOW = "window"
    SORTED = "sorted"
    PROCESS = "process"
    SEND_TO = "sendTo"
    SQL = "sql"

    @property
    def terminal(self) -> bool:
        """Whether nothing can be read from it."""
        return self is OperatorKind.SEND_TO or self is OperatorKind.SEND_TO_TABLE

    @property
    def joins(self) -> bool:
        """Whether it brings rows of two streams, or of a stream and a table, together."""
        return self is OperatorKind.JOIN or self is OperatorKind.JOIN_TABLE

    @property
    def makes_intermediate_stream(self) -> bool:
        """Whether its rows go through an intermediate stream, which bears its name."""
        return self is OperatorKind.PARTITION_BY or self is OperatorKind.BROADCAST


class JoinType(StrEnum):
    """The sides of a join whose rows are emitted even without a partner."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"


class TableJoinType(StrEnum):
    """Whether a row without a row in the table is dropped or filled with nulls."""

    INNER = "inner"
    LEFT = "left"


class Merge(SpecModel):
    """All rows of several inputs, which have the same columns."""


class Sorted(SpecModel):
    """Rows in the order of their event times, once the watermark has passed them."""


class Broadcast(SpecModel):
    """Every row to every task, through an intermediate stream of one partition."""


class PartitionBy(SpecModel):
    """Rows regrouped by another key, through an intermediate stream; `stream` gives it a stable name."""

    key: KeyColumns
    stream: Annotated[Text | None, Field(description="A stable topic, for other apps to read.")] = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the key."""
        return key_columns(self.key)


class JoinColumns(SpecModel):
    """The key columns of a join where they differ; if they are several, in the order of their pairs."""

    left: KeyColumns
    right: KeyColumns

    @model_validator(mode="after")
    def _paired(self) -> Self:
        left, right = len(key_columns(self.left)), len(key_columns(self.right))
        if left != right:
            raise ValueError(
                f"`left` has {left} column{'s' * (left > 1)} and `right` {right}: each column of one side is equal to "
                "that of the other side at the same place"
            )
        return self


class JoinBounds(SpecModel):
    """The most by which the right row's event time may be earlier, and later, than that of the left row."""

    before: Duration = "0ms"  # type: ignore[assignment]
    after: Duration = "0ms"  # type: ignore[assignment]


class Join(SpecModel):
    """Pairs of rows of two streams with equal keys, and at most `within` between their event times if that is given."""

    with_: Annotated[Name, Field(alias="with", description="The other stream or operator.")]
    on: Annotated[
        KeyColumns | JoinColumns,
        Field(
            description="The columns that are equal: a column, or a list of columns, which both sides have; or those "
            "of each side as `left` and `right`."
        ),
    ]
    type: JoinType = JoinType.INNER
    within: Annotated[
        Duration | JoinBounds | None,
        Field(
            description="How far apart the event times of a pair may be, or how much earlier (`before`) and later "
            "(`after`) the right one's. Without it every pair with equal keys is emitted, and all rows of both sides "
            "are kept."
        ),
    ] = None
    as_of: Annotated[
        bool,
        Field(
            description="Pair each left row with one right row only: the last one of its key that is not later. "
            "`within` says how much earlier that may be."
        ),
    ] = False
    condition: Annotated[
        Expression | None,
        Field(
            description="What else has to be true of two rows that are `within` of each other, so that they are a "
            "pair: a condition on the columns of the result. Without `within` a filter follows the join."
        ),
    ] = None
    ttl: Ttl | None = None

    @model_validator(mode="after")
    def _pairs_within(self) -> Self:
        if self.condition is not None and (self.within is None or self.as_of):
            raise ValueError(
                "`condition` says which rows `within` of each other are a pair; for other joins put a filter behind it"
            )
        return self

    @model_validator(mode="after")
    def _last_version(self) -> Self:
        if not self.as_of:
            return self
        if self.type not in (JoinType.INNER, JoinType.LEFT):
            raise ValueError(f"`asOf` looks versions up for left rows; a {self.type} join is for pairs")
        if isinstance(self.within, JoinBounds) or self.ttl is not None:
            raise ValueError(
                "with `asOf`, `within` is one length of time, how old a version may be, and there is no `ttl`"
            )
        return self

    @model_validator(mode="after")
    def _bounded_once(self) -> Self:
        if self.within is not None and self.ttl is not None:
            raise ValueError(BOUNDED_TWICE)
        return self

    @model_validator(mode="after")
    def _bounded_if_outer(self) -> Self:
        if self.within is None and self.type in (JoinType.RIGHT, JoinType.FULL):
            raise ValueError(
                f"a {self.type} join needs `within`: without a bound in time a partner may always come, so no row "
                "is ever known to have none; set `within`, or make it an inner join"
            )
        return self

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key columns of the left and of the right side, in the order of their pairs."""
        if isinstance(self.on, JoinColumns):
            return key_columns(self.on.left), key_columns(self.on.right)
        return key_columns(self.on), key_columns(self.on)

    @property
    def bounds(self) -> JoinBounds | None:
        """The distances between the event times of a pair that are allowed, on both sides; None: without a bound."""
        if self.within is None or isinstance(self.within, JoinBounds):
            return self.within
        return JoinBounds.model_construct(before=self.within, after=self.within)


class JoinTable(SpecModel):
    """Rows enriched by the row of a table whose key equals `on`: a column, or one for each part of the key."""

    table: Annotated[Name, Field(description="One of spec.tables.")]
    on: Annotated[
        KeyColumns,
        Field(description="The column that is looked up, or a list of one for each part of the table's key."),
    ]
    type: TableJoinType = TableJoinType.INNER

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared with the key, in the order of its parts."""
        return key_columns(self.on)


class ProcessState(SpecModel):
    """A keyed store for a `process` function."""

    key: KeyColumns

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the key."""
        return key_columns(self.key)


class ProcessOrder(StrEnum):
    """The orders in which a `process` function gets rows and timers."""

    EVENT_TIME = "eventTime"
    ARRIVAL = "arrival"


class Process(SpecModel):
    """A Python function over batches of rows; `schema` are its output columns."""

    function: FunctionName
    output_schema: Annotated[SchemaText, Field(alias="schema")]
    state: ProcessState | None = None
    order: Annotated[
        ProcessOrder | None,
        Field(
            description="The order of rows and timers of a key: by event time, or as they come. By default event time "
            "where there is state and rows have an event time."
        ),
    ] = None

    @model_validator(mode="after")
    def _ordered_with_state(self) -> Self:
        if self.order is ProcessOrder.EVENT_TIME and self.state is None:
            raise ValueError(
                "order: eventTime is for functions with state; add `state: {key: column}`, or leave `order` out"
            )
        return self


class OperatorSpec(SpecModel):
    """A declared operator."""

    name: Annotated[Name, Field(description="What other operators call it in their `from`.")]
    from_: Annotated[
        Name | Annotated[tuple[Name, ...], Field(min_length=1, max_length=100)] | None,
        Field(alias="from", description="What it reads: a stream or an operator; `merge` reads several."),
    ] = None
    filter: Expression | None = None
    map: Expression | None = None
    flat_map: Expression | None = None
    merge: Merge | None = None
    partition_by: PartitionBy | None = None
    broadcast: Broadcast | None = None
    join: Join | None = None
    join_table: JoinTable | None = None
    send_to_table: Annotated[Name | None, Field(description="The table that the rows fill: one of spec.tables.")] = None
    aggregate: Aggregate | None = None
    top_n: TopN | None = None
    dedup: Dedup | None = None
    over: Over | None = None
    window: Window | None = None
    sorted: Sorted | None = None
    process: Process | None = None
    send_to: Annotated[
        Name | None, Field(description="The stream that the rows are written to: one of spec.streams.")
    ] = None
    sql: SqlText | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [kind for kind in OperatorKind if getattr(self, _FIELDS[kind]) is not None]
        if len(given) != 1:
            kinds = ", ".join(given) if given else "none"
            raise ValueError(f"an operator has exactly one kind, here: {kinds}; kinds are {', '.join(OperatorKind)}")
        if (self.from_ is None) != (self.sql is not None):
            raise ValueError(
                "`from` is required: the stream or operator to read"
                if self.from_ is None
                else "leave `from` out: the query of `sql` names what it reads"
            )
        if isinstance(self.from_, tuple) and len(self.from_) > 1 and self.merge is None:
            raise ValueError(f"only merge reads from several inputs, {given[0]} from one")
        return self

    @property
    def kind(self) -> OperatorKind:
        """The kind of this operator."""
        for field in self.model_fields_set:  # two names and the kind, where all fields are many
            if field in _KINDS and self.__dict__[field] is not None:
                return _KINDS[field]
        raise AssertionError(f"operator {self.name} has no kind, which is checked when it is read")

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose equal values must be in one task: those of a group, or of a function's state."""
        if self.process is not None:
            return () if self.process.state is None else self.process.state.columns
        group = self.window or self.aggregate or self.top_n or self.dedup or self.over
        return () if group is None else group.by

    @property
    def ttl(self) -> int | None:
        """The milliseconds that entries of the state live after their last event time; None: `ttl` ends none."""
        keeps = self.join or self.aggregate or self.top_n or self.dedup
        return keeps.ttl if keeps is not None and isinstance(keeps.ttl, int) else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names it reads `from`, as one tuple however they were written (not the right side of a join)."""
        if self.from_ is None:
            return ()
        return self.from_ if isinstance(self.from_, tuple) else (self.from_,)


_FIELDS = {
    kind: next(name for name, field in OperatorSpec.model_fields.items() if field.alias == kind)
    for kind in OperatorKind
}
_KINDS = {field: kind for kind, field in _FIELDS.items()}
