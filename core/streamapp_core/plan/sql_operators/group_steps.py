"""Groups of a query: what they are by and what is counted of them, computed before; then the groups; then `having`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from streamapp_core.plan.sql_operators.event_windows import EventWindow, read_window
from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
    first_names,
    unique,
)
from streamapp_core.plan.sql_operators.rows import Rows, partitioned_under, types_of, write
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.ttl_steps import ttl_fields
from streamapp_core.plan.stream_types.stream_partitioning import Hashed, hashed_by
from streamapp_core.schema import STRING
from streamapp_core.sql.query_tree import Selection, Span, SqlIssue
from streamapp_core.sql.sql_expressions import Reference, SqlExpression, read_expression, same_expression

_BOUNDS = {"start": "window_start", "end": "window_end"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Something that a query groups by, and the name of the column that holds it."""

    expression: SqlExpression
    found: Found | None
    name: str


@dataclass(slots=True)
class _Before:
    """The columns that are computed before the groups: those by which rows are grouped, and those that are counted."""

    scope: Scope
    taken: set[str]
    names: dict[tuple[object, ...], str] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)

    def column(self, found: Found, span: Span) -> str:
        """Return the name of the column that holds a value of the rows."""
        name = self.names.get(found.key)
        if name is None:
            name = self.names[found.key] = unique(found.name, self.taken)
            self.outputs.append(Output(name=name, text=found.text, span=span, found=found))
        return name


def groups_rows(text: str, selection: Selection) -> bool:
    """Return whether a selection has groups: it says so, or has an aggregate."""
    if selection.group_by or selection.having is not None:
        return True
    return any(read_expression(text, item.expression).aggregates for item in selection.items if item.window is None)


def group_rows(builder: StepBuilder, selection: Selection, rows: Rows, scope: str) -> tuple[Rows, list[Output]]:
    """Add the steps of the groups of a selection; return their rows, and the select list over these.

    Raises:
        SqlIssue, Refused: they can't be planned.
    """
    return _Groups(builder, selection, rows, scope).make()


class _Groups:
    def __init__(self, builder: StepBuilder, selection: Selection, rows: Rows, scope: str) -> None:
        self._builder = builder
        self._text = builder.text
        self._selection = selection
        self._rows = rows
        self._step = scope
        self._items = [read_expression(self._text, item.expression) for item in selection.items]
        self._having = None if selection.having is None else read_expression(self._text, selection.having)
        self._groups: list[_Group] = []
        self._window: EventWindow | None = None

    def make(self) -> tuple[Rows, list[Output]]:
        builder, selection = self._builder, self._selection
        written = builder.gather(self._grouped_by, selection.group_by)
        place = Span(selection.items[0].place.start, selection.items[-1].place.end)
        if not written and builder.name == self._step:
            raise SqlIssue(
                place,
                "without `group by` all rows are one group, whose result needs a key by which a later one replaces an "
                "earlier one: write `select 1 as one, ... group by 1`",
            )
        read = [(expression, read_window(expression, self._rows, builder.turned_zone)) for expression in written]
        windows = [window for _, window in read if window is not None]
        if len(windows) > 1:
            raise SqlIssue(windows[1].span, "rows are in one window; write one operator for each")
        self._window = windows[0] if windows else None
        before = _Before(self._rows.scope, {*_BOUNDS.values()} if windows else set())
        self._name_groups([expression for expression, window in read if window is None], before)
        outputs, aggregates, having = self._over_groups(before)
        lacks = self._refuse_lacking(outputs)
        rows = self._group(before, aggregates, having, place)
        if lacks:
            raise Refused
        return rows, outputs

    def _grouped_by(self, span: Span) -> SqlExpression:
        """Return what the group is by: a number is the place of an item, a name that is no column that of one."""
        expression = read_expression(self._text, span)
        items, node = self._selection.items, expression.node
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal():
            if not 1 <= int(node.this) <= len(items):
                raise SqlIssue(span, f"there is no item {node.this} in the select list")
            expression = self._items[int(node.this) - 1]
        elif expression.reference is not None and len(expression.reference.parts) == 1:
            name = expression.reference.parts[0].lower()
            named = next((at for at, item in enumerate(items) if item.name and item.name.lower() == name), None)
            if named is not None and not any(relation.get(name) for relation in self._rows.scope.relations):
                expression = self._items[named]
        if expression.aggregates:
            raise SqlIssue(span, "groups are made before anything is counted; filter by aggregates behind `having`")
        if isinstance(expression.node, exp.Star):
            raise SqlIssue(span, "name the columns of the groups")
        return expression

    def _name_groups(self, expressions: Sequence[SqlExpression], before: _Before) -> None:
        for expression in expressions:
            reference = expression.reference
            found = None if reference is None else before.scope.find(reference)
            if any(same_expression(group.expression, expression) for group in self._groups):
                continue
            if found is not None:
                if found.key in before.names:
                    continue
                name = before.column(found, expression.span)
            else:
                alias = next(
                    (
                        item.name
                        for item, read_ in zip(self._selection.items, self._items, strict=True)
                        if item.name and same_expression(read_, expression)
                    ),
                    f"group_{len(self._groups) + 1}",
                )
                name = unique(alias, before.taken)
                text = write(expression, before.scope)
                before.outputs.append(Output(name=name, text=text, span=expression.span))
            self._groups.append(_Group(expression=expression, found=found, name=name))

    def _over_groups(self, before: _Before) -> tuple[list[Output], list[Output], Output | None]:
        """Return the select list over the groups, the aggregates in it, and the condition behind `having`."""
        aggregates: list[Output] = []
        taken = {group.name.lower() for group in self._groups} | {*_BOUNDS.values()}

        def item(number: int) -> Output:
            written, expression = self._selection.items[number], self._items[number]
            if expression.is_star:
                raise SqlIssue(written.place, "name the columns of the groups")
            name = written.name or (expression.reference.parts[-1] if expression.reference else None)
            if name is None:
                raise SqlIssue(written.place, "this column needs a name: ... as name")
            text = self._over(expression, before)
            if expression.aggregates:
                stored = unique(name, taken)
                aggregates.append(Output(name=stored, text=text, span=written.place))
                return Output(name=name, text=backquoted(stored), span=written.place)
            held = next((group for group in self._groups if text == backquoted(group.name)), None)
            found = None if held is None else _stored(held.name)
            return Output(name=name, text=text, span=written.place, found=found)

        outputs = self._builder.gather(item, range(len(self._items)))
        having = None
        if self._having is not None:
            text = self._over(self._having, before)
            having = Output(name=unique("passes", taken), text=text, span=self._having.span)
        return outputs, aggregates, having

    def _over(self, expression: SqlExpression, before: _Before) -> str:
        """Return the text of an expression over the groups: what they are by has the name of its column."""
        grouped = {group.found.key for group in self._groups if group.found is not None}
        replaced: list[tuple[Span, str]] = []
        for group in self._groups:
            if group.found is None:
                replaced += [(span, backquoted(group.name)) for span in expression.occurrences(group.expression)]
        if self._window is not None:
            bounds = "struct(window_start as start, window_end as end)"
            replaced += [(span, bounds) for span in expression.occurrences(self._window.expression)]

        def name(reference: Reference) -> str:
            text = self._bound(reference)
            named = self._item_named(reference) if expression is self._having else None
            if named is not None:
                return f"({self._over(named, before)})"
            if text is None:
                found = before.scope.find(reference)
                if not expression.aggregates and found.key not in grouped:
                    shown = ".".join(reference.parts)
                    raise SqlIssue(
                        reference.span,
                        f"this is neither in `group by` nor inside an aggregate such as max({shown})",
                    )
                text = backquoted(before.column(found, reference.span))
            if reference.names_field and text.strip("`").lower() != reference.parts[-1].lower():
                return f"{text} as {backquoted(reference.parts[-1])}"
            return text

        return expression.rewritten(name, replaced)

    def _item_named(self, reference: Reference) -> SqlExpression | None:
        """Return the item of the select list that a name means which is none of a column."""
        name = reference.parts[0].lower()
        if len(reference.parts) > 1 or any(relation.get(name) for relation in self._rows.scope.relations):
            return None
        items = zip(self._selection.items, self._items, strict=True)
        return next((read_ for item, read_ in items if item.name and item.name.lower() == name), None)

    def _bound(self, reference: Reference) -> str | None:
        """Return what a reference to the window of the group means: the start, the end, or both."""
        if self._window is None or reference.parts[0].lower() != self._window.name:
            return None
        if any(relation.get(reference.parts[0]) for relation in self._rows.scope.relations):
            return None
        if len(reference.parts) == 1:
            return "struct(window_start as start, window_end as end)"
        bound = _BOUNDS.get(reference.parts[1].lower())
        if bound is None or len(reference.parts) > 2:  # noqa: PLR2004 - the window and one of its bounds
            raise SqlIssue(reference.span, f"a window has `{self._window.name}.start` and `{self._window.name}.end`")
        return bound

    def _refuse_lacking(self, outputs: Sequence[Output]) -> bool:
        """Refuse results that replace each other by a key that nobody sees; return whether they are such."""
        if self._window is not None or self._builder.name != self._step or self._plain:
            return False
        shown = {output.text for output in outputs}
        lacking = [group.expression.span for group in self._groups if backquoted(group.name) not in shown]
        for span in lacking:
            self._builder.refuse(
                SqlIssue(
                    span,
                    "the result of a group changes, and a later one replaces the earlier one by what it is grouped by: "
                    "add this to the select list",
                )
            )
        return bool(lacking)

    @property
    def _plain(self) -> bool:
        """Whether nothing is counted: the groups are the different rows."""
        counted = any(item.aggregates for item in self._items) or self._having is not None
        return self._window is None and not counted

    def _group(self, before: _Before, aggregates: Sequence[Output], having: Output | None, place: Span) -> Rows:
        builder, rows = self._builder, self._rows
        by = [group.name for group in self._groups]
        extra = [] if by else [Output(name=unique("one", before.taken), text="1", span=place)]
        by = by or [extra[0].name]
        source, stored = self._compute_before(before, extra, place)
        kept = partitioned_under(rows.partitioned, {old: (new,) for old, new in stored.items()})
        if kept is None or not kept.within(by):
            name = builder.step_name(self._step, f"by-{by[0]}")
            builder.add(name, source, "partitionBy", {"key": by[0]}, place)
            source, kept = name, hashed_by(by[:1])
        kept = partitioned_under(kept, {name.lower(): (name.lower(),) for name in by})
        if self._plain:
            name = builder.step_name(self._step, "distinct")
            builder.add(name, source, "dedup", {"by": by} | ttl_fields(self._selection, rows), place)
            return self._rows_of(name, kept, key=None)
        list_ = [*aggregates, *([having] if having else [])]
        if not list_:
            list_ = [Output(name=unique("rows", {*map(str.lower, by), *_BOUNDS.values()}), text="count(*)", span=place)]
        places = {output.item: output.span for output in list_}
        value: dict[str, object] = {"by": by, "select": ", ".join(places)}
        if self._window is not None:
            value = self._window.fields | value
        else:
            value |= ttl_fields(self._selection, rows)
        kind = "aggregate" if self._window is None else "window"
        name = builder.step_name(self._step, "groups" if self._window is None else "windows")
        builder.add(name, source, kind, value, places)
        if having is not None:
            groups, name = name, builder.step_name(self._step, "having")
            builder.add(name, groups, "filter", backquoted(having.name), having.span)
        return self._rows_of(name, kept, key=tuple(by) if self._window is None else None)

    def _compute_before(self, before: _Before, extra: Sequence[Output], place: Span) -> tuple[str, dict[str, str]]:
        """Add the step that computes what the groups need; return its name, and the columns that it keeps."""
        builder, rows = self._builder, self._rows
        outputs = [*before.outputs, *extra]
        stored = {old: new.lower() for old, new in first_names(outputs).items()}
        for column in rows.key or ():
            if column.lower() not in stored:
                name = unique(column, before.taken)
                stored[column.lower()] = name.lower()
                outputs.append(Output(name=name, text=backquoted(column), span=place))
        source = rows.operator
        if self._window is not None and self._window.condition:
            name = builder.step_name(self._step, "timed")
            builder.add(name, source, "filter", self._window.condition, self._window.span)
            source = name
        name = builder.step_name(self._step, "columns")
        builder.add(
            name, source, "map", ", ".join(output.item for output in outputs), {o.item: o.span for o in outputs}
        )
        return name, stored

    def _rows_of(self, operator: str, partitioned: Hashed | None, key: tuple[str, ...] | None) -> Rows:
        types = types_of(self._builder, operator)
        columns = tuple(RelationColumn(name=name, stored=name, type=type_) for name, type_ in types.items())
        return Rows(
            operator=operator,
            scope=Scope([Relation(operator=operator, alias=None, columns=columns)]),
            types=types,
            partitioned=partitioned,
            key=key,
        )


def _stored(name: str) -> Found:
    """Return what a column of the groups is by itself; its type makes no difference."""
    return Found(relation=0, column=RelationColumn(name=name, stored=name, type=STRING), fields=())
