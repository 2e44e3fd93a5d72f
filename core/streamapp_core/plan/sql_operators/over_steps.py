"""Aggregates over the last rows of each row: `avg(a) over (partition by b order by at rows 9 preceding)`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from streamapp_core.expressions.parsing import tokenize
from streamapp_core.plan.sql_operators.event_windows import check_event_time
from streamapp_core.plan.sql_operators.relations import (
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
)
from streamapp_core.plan.sql_operators.rows import Rows, partitioned_under, types_of, write
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.plan.sql_operators.window_columns import WindowColumns, is_literal, shown_column
from streamapp_core.plan.stream_types.stream_partitioning import Hashed, hashed_by
from streamapp_core.spec.base import format_duration
from streamapp_core.sql.query_tree import Item, LastRows, Selection, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression, read_expression, read_ordering
from streamapp_core.sql.time_lengths import DAY, read_length


class _Added(NamedTuple):
    """An aggregate over last rows, and the name of its column."""

    item: Item
    name: str
    window: LastRows


_Outputs = Callable[[Sequence[Item], Scope], list[Output]]
_FRAME = re.compile(r"(rows|range) (between )?(.+?) preceding( and current row)?")


def add_last_rows(
    builder: StepBuilder, selection: Selection, rows: Rows, scope: str, *, outputs_of: _Outputs
) -> tuple[Rows, list[Output]]:
    """Add the steps that compute aggregates over last rows; return their rows, and the select list over them.

    Raises:
        SqlIssue, Refused: they can't be planned.
    """
    return _Steps(builder, selection, rows, scope, outputs_of).make()


class _Steps:
    """The steps of the aggregates of one selection, all of which have the same window."""

    def __init__(
        self, builder: StepBuilder, selection: Selection, rows: Rows, scope: str, outputs_of: _Outputs
    ) -> None:
        self._builder = builder
        self._text = builder.text
        self._selection = selection
        self._rows = rows
        self._step = scope
        self._outputs_of = outputs_of
        self._added = [
            _Added(item, item.name or "", item.last_rows) for item in selection.items if item.last_rows is not None
        ]
        self._window = self._added[0].window
        self._place = self._added[0].item.place

    def make(self) -> tuple[Rows, list[Output]]:
        self._check_windows()
        outputs = self._outputs_of(self._selection.items, self._rows.scope)
        columns = WindowColumns(self._rows.scope, list(outputs), self._names(outputs))
        by = self._groups(columns)
        fields: dict[str, object] = {"by": by, **_frame(self._builder, self._window, self._rows)}
        ttl = self._selection.ttl
        if ttl is not None and ttl.length == "forever" and "rows" in fields and self._rows.key is None:
            fields["range"] = ttl.length
        order = read_ordering(self._text, self._window.order)
        condition = None
        if self._rows.key is None:
            condition = self._check_time(order)
        else:
            fields["orderBy"] = self._over_columns(order, columns)
        calls = {}
        for one in self._added:
            call = self._over_columns(read_expression(self._text, one.item.expression), columns)
            calls[Output(name=one.name, text=call, span=one.item.place).item] = one.item.place
        kept = {old: new.lower() for old, new in columns.kept(self._rows).items()}
        source = self._before(columns, condition, order)
        source, partitioned, key = self._regrouped(source, by, kept)
        name = self._builder.step_name(self._step, "last-rows")
        self._builder.add(name, source, "over", fields | {"select": ", ".join(calls)}, calls)
        relation = self._relation(name, columns)
        rows = replace(
            self._rows,
            operator=name,
            scope=Scope([relation]),
            types=types_of(self._builder, name),
            partitioned=partitioned,
            key=key,
        )
        return rows, self._shown(relation)

    def _check_windows(self) -> None:
        for one in self._added:
            if not one.name:
                raise SqlIssue(one.item.place, "this column needs a name: ... as name")
            if _words(self._text, one.window) != _words(self._text, self._window):
                raise SqlIssue(
                    one.item.place, "all windows of a query are written alike; write this one in a query around it"
                )

    def _names(self, outputs: Sequence[Output]) -> set[str]:
        """Return the names of all columns of the selection, in lower case."""
        taken: set[str] = set()
        named = [(one.name, one.span) for one in outputs] + [(one.name, one.item.place) for one in self._added]
        for name, span in named:
            if name.lower() in taken:
                raise SqlIssue(span, f"two columns are named `{name}`; rename one with `as`")
            taken.add(name.lower())
        return taken

    def _groups(self, columns: WindowColumns) -> list[str]:
        groups = [read_expression(self._text, span) for span in self._window.partition]
        by = [columns.expression(group) for group in groups if not is_literal(group)]
        return list(dict.fromkeys(by)) or [columns.constant(self._place)]

    def _check_time(self, order: SqlExpression) -> str | None:
        """Return the condition under which the order is that of event time; None: it always is."""
        node = order.nodes[0]
        if len(order.nodes) > 1 or not isinstance(node, exp.Ordered) or node.args.get("desc"):
            raise SqlIssue(order.span, "rows go by their event time: order by its column alone, ascending")
        return check_event_time(node.this, order, self._rows, "what the last rows are ordered by")

    def _over_columns(self, expression: SqlExpression, columns: WindowColumns) -> str:
        """Write an expression over the columns before the window."""
        return write(
            expression,
            self._rows.scope,
            lambda found: backquoted(columns.reference(found, expression.span)),
        )

    def _before(self, columns: WindowColumns, condition: str | None, order: SqlExpression) -> str:
        """Add the steps that make the columns which the window needs; return the last one."""
        source = self._rows.operator
        if condition is not None:
            name = self._builder.step_name(self._step, "timed")
            self._builder.add(name, source, "filter", condition, order.span)
            source = name
        name = self._builder.step_name(self._step, "columns")
        places = {output.item: output.span for output in columns.outputs}
        self._builder.add(name, source, "map", ", ".join(places), places)
        return name

    def _regrouped(
        self, source: str, by: Sequence[str], kept: Mapping[str, str]
    ) -> tuple[str, Hashed | None, tuple[str, ...] | None]:
        """Regroup rows if that is needed; return the step, its partitioning, and the key of rows that replace others.

        A row that goes elsewhere is deleted where it was, so what rows are regrouped by is a part of their key.
        """
        key = None if self._rows.key is None else [kept[column.lower()] for column in self._rows.key]
        partitioned = partitioned_under(self._rows.partitioned, {old: (new,) for old, new in kept.items()})
        if partitioned is None or not partitioned.within(by):
            name = self._builder.step_name(self._step, f"by-{by[0]}")
            self._builder.add(name, source, "partitionBy", {"key": by[0]}, self._place)
            source, partitioned = name, hashed_by(by[:1])
            key = key if key is None or by[0].lower() in key else [*key, by[0].lower()]
        return source, partitioned, None if key is None else tuple(key)

    def _relation(self, name: str, columns: WindowColumns) -> Relation:
        types = types_of(self._builder, name)
        before = [
            RelationColumn(
                name=output.name,
                stored=output.name,
                type=types[output.name.lower()],
                origin=None if output.found is None else output.found.origin,
            )
            for output in columns.outputs
        ]
        added = [RelationColumn(name=one.name, stored=one.name, type=types[one.name.lower()]) for one in self._added]
        return Relation(operator=name, alias=None, columns=(*before, *added))

    def _shown(self, relation: Relation) -> list[Output]:
        """Return the select list over the rows with their aggregates."""
        shown = []
        for item in self._selection.items:
            others = [] if item.last_rows else self._outputs_of([item], self._rows.scope)
            names = [item.name or ""] if item.last_rows else [output.name for output in others]
            shown += [shown_column(relation, name, item.place) for name in names]
        return shown


def _words(text: str, window: LastRows) -> list[list[str]]:
    spans = [*window.partition, window.order, *([] if window.frame is None else [window.frame])]
    return [[token.text.lower() for token in tokenize(text[span.start : span.end])] for span in spans]


def _frame(builder: StepBuilder, window: LastRows, rows: Rows) -> dict[str, object]:
    """Return the fields of an `over` for a frame: so many rows, or a length of event time."""
    if window.frame is None:
        raise SqlIssue(
            window.order,
            "without a frame all rows before count, for ever: write behind it how many, `rows between 9 preceding and "
            "current row`, or for how long, `range between interval '10' minutes preceding and current row`",
        )
    words = " ".join(token.text.lower() for token in tokenize(builder.text[window.frame.start : window.frame.end]))
    found = _FRAME.fullmatch(words)
    if found is not None and bool(found[2]) == bool(found[4]):
        if found[1] == "rows" and found[3].isdecimal():
            return {"rows": int(found[3]) + 1}
        length = read_length(found[3]) if found[1] == "range" and found[3].startswith("interval ") else None
        if length is not None and rows.key is None:
            if builder.turned_zone and length >= DAY:
                raise SqlIssue(
                    window.frame,
                    f"24 hours are a day in a frame, and days have 23 to 25 hours in {builder.turned_zone}: write a "
                    "shorter one, or an `over` operator, whose `range` is of hours",
                )
            return {"range": format_duration(length)}
        if length is not None:
            raise SqlIssue(
                window.frame, "the rows before are results that change, and go by their order: write how many, `rows`"
            )
    raise SqlIssue(
        window.frame,
        "a frame is `rows between 9 preceding and current row`, with any number, or `range between interval '10' "
        "minutes preceding and current row`",
    )
