"""Joins of a query: each source comes to those before it by an equality of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamapp_core.plan.sql_operators.join_conditions import Equality, check_keys, equality_of, sources_of, time_bounds
from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
    unique,
)
from streamapp_core.plan.sql_operators.rows import Rows, filter_rows, rows_of, types_of, write
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.used_columns import check_columns, used_columns
from streamapp_core.plan.sql_operators.written_sources import WrittenSources
from streamapp_core.schema import STRING, Schema
from streamapp_core.spec.base import format_duration
from streamapp_core.sql.query_tree import JoinKind, Selection, Source, Span, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression

_NO_EQUALITY = (
    "no equality joins it with what stands before it, as in `on a.key = b.key`: all pairs of rows can't be made"
)


_LOST = "this is null where the table has no row: take the column of the other side, to which it is equal otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table that is joined: its key, and the columns that a row has of it."""

    key: str
    schema: Schema


class Joins:
    """The joins of one selection."""

    def __init__(self, builder: StepBuilder, written: WrittenSources, selection: Selection, scope: str) -> None:
        self._builder = builder
        self._written = written
        self._step = scope
        self._selection = selection
        self._outer = {at for at, source in enumerate(selection.sources) if source.join is not JoinKind.INNER}
        self._tables: dict[int, _Table] = {}
        self._relations: list[Relation] = []
        self._scope = Scope(())
        self._conditions: list[Span] = []
        self._own: dict[int, Sequence[Span]] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._taken: set[str] = set()

    def make(self, relations: Sequence[Relation | None], where: Sequence[Span]) -> tuple[Rows, tuple[Span, ...]]:
        """Add the steps of all joins; return their rows, and the conditions that remain to be checked.

        `relations` are the rows of the sources, None for a table.

        Raises:
            SqlIssue, Refused: they can't be planned.
        """
        first, sources = relations[0], self._selection.sources
        if first is None:
            raise SqlIssue(
                sources[0].place, "a table has no rows of its own to read; join it with a stream that comes first"
            )
        if len(relations) == 1:
            check_columns(self._builder, self._selection, where, Scope([first]))
            return rows_of(self._builder, first), tuple(where)
        self._relations = [
            self._table(at, sources[at]) if relation is None else relation for at, relation in enumerate(relations)
        ]
        self._scope = Scope(self._relations)
        self._check_sources()
        self._conditions = [*where]
        for at, source in enumerate(sources):
            if at in self._outer:
                self._own[at] = source.on
            else:
                self._conditions += source.on
        conditions = [*self._conditions, *(span for own in self._own.values() for span in own)]
        check_columns(self._builder, self._selection, conditions, self._scope)
        return self._join_all()

    def _check_sources(self) -> None:
        aliases = [(relation.alias or "").lower() for relation in self._relations]
        for at, source in enumerate(self._selection.sources):
            if aliases[at] and aliases[at] in aliases[:at]:
                raise SqlIssue(source.place, f"`{aliases[at]}` stands twice; name one by `as`")
            if at in self._outer and at not in self._tables:
                raise SqlIssue(
                    source.place,
                    "without a bound in time a row of a stream is never known to have no partner: make it an inner "
                    f"join, or write the operators {self._outer_join(at, source)}, whose `within` is how far apart in "
                    "event time partners may be",
                )
            if at in self._outer and source.join is not JoinKind.LEFT:
                raise SqlIssue(source.place, "a table has no rows of its own to read: write `join` or `left join`")

    def _outer_join(self, at: int, source: Source) -> str:
        """Return the operators of an outer join of streams, as they stand in a spec."""
        before = self._selection.sources[at - 1]
        left, right = (each.relation if isinstance(each.relation, str) else "..." for each in (before, source))
        keys = ("...", "...")
        for span in source.on:
            equality = equality_of(self._builder, span, self._scope, {at - 1}, at)
            if equality is not None and equality.left.reference and equality.right.reference:
                keys = (equality.left.reference.parts[-1], equality.right.reference.parts[-1])
        return (
            f"`{{name: left-side, from: {left}, partitionBy: {{key: {keys[0]}}}}}`, "
            f"`{{name: right-side, from: {right}, partitionBy: {{key: {keys[1]}}}}}` and "
            f'`{{name: joined, from: left-side, join: {{with: right-side, "on": {{left: {keys[0]}, right: {keys[1]}}}, '
            f"type: {source.join}, within: 1h}}}}`"
        )

    def _table(self, at: int, source: Source) -> Relation:
        name = str(source.relation)
        table = self._written.table(name)
        if table is None or table.stored is None:
            raise Refused
        if table.key_columns is None or len(table.key_columns) > 1:
            has = "is computed" if table.key_columns is None else "has several columns"
            raise SqlIssue(source.place, f"the key of table `{name}` {has}; join it by an operator with `joinTable`")
        (key,) = table.key_columns
        rest = [column for column in table.stored.columns if column.name.lower() != key.lower()]
        self._tables[at] = _Table(key=key, schema=Schema(tuple(rest)))
        columns = [RelationColumn(name=column.name, stored=column.name, type=column.type) for column in rest]
        columns.insert(0, RelationColumn(name=key, stored=key, type=next(iter(table.key_types), STRING)))
        return Relation(operator=name, alias=source.alias or name, columns=tuple(columns))

    def _join_all(self) -> tuple[Rows, tuple[Span, ...]]:
        builder = self._builder
        self._push_down()
        used = used_columns(builder, self._selection, self._conditions, self._scope)
        self._name_columns(used)
        rows = rows_of(builder, self._relations[0])
        joined, waiting = {0}, list(range(1, len(self._relations)))
        columns: dict[tuple[int, str], RelationColumn] = {}
        rows = replace(rows, scope=Scope([self._relations[0]]))
        while waiting:
            at, equality = self._next(joined, waiting)
            waiting.remove(at)
            if at in self._tables:
                rows = self._join_table(rows, at, equality, joined, columns)
            else:
                rows = self._join(rows, at, equality, joined, columns)
            joined.add(at)
        return rows, tuple(self._conditions)

    def _push_down(self) -> None:
        """Filter each stream by the conditions on it alone, before it is joined."""
        for at, relation in enumerate(self._relations):
            if at in self._tables:
                continue
            own = [span for span in self._conditions if sources_of(self._builder, span, self._scope) == {at}]
            if not own:
                continue
            name = self._builder.step_name(self._step, f"{relation.alias or at}-where")
            rows = filter_rows(self._builder, replace(rows_of(self._builder, relation), scope=self._scope), own, name)
            self._conditions = [span for span in self._conditions if span not in own]
            self._relations[at] = replace(relation, operator=name, nulls=rows.nulls)
        self._scope = Scope(self._relations)

    def _name_columns(self, used: Sequence[Found]) -> None:
        """Name the columns that are needed so that no two of the joined rows have one name."""
        for at, table in self._tables.items():
            for column in table.schema.columns:
                if column.name.lower() in self._taken:
                    raise SqlIssue(
                        self._selection.sources[at].place,
                        f"two of these tables have a column `{column.name}`; join one in a query of its own, which "
                        "renames it",
                    )
                self._taken.add(column.name.lower())
                self._names[at, column.name.lower()] = column.name
        for found in used:
            key = (found.relation, found.column.name.lower())
            if key in self._names:
                continue
            name = found.column.name
            if name.lower() in self._taken:
                name = f"{self._relations[found.relation].alias or 'other'}_{name}"
            self._names[key] = unique(name, self._taken)

    def _next(self, joined: set[int], waiting: Sequence[int]) -> tuple[int, Equality]:
        """Return a source that an equality joins with those before, and this equality."""
        for at in waiting:
            conditions = self._own.get(at, self._conditions)
            for span in conditions:
                equality = equality_of(self._builder, span, self._scope, joined, at)
                if equality is None or not self._usable(at, equality):
                    continue
                if at in self._own and len(conditions) > 1:
                    raise SqlIssue(
                        conditions[1] if conditions[0] == span else conditions[0],
                        "a left join of a table has one condition: that its key is equal to a column",
                    )
                if at not in self._own:
                    self._conditions.remove(span)
                return at, equality
        table = self._tables.get(waiting[0])
        why = _NO_EQUALITY if table is None else f"a table is joined by its key: on ... = `{table.key}`"
        raise SqlIssue(self._selection.sources[waiting[0]].place, why)

    def _usable(self, at: int, equality: Equality) -> bool:
        table = self._tables.get(at)
        if table is None:
            return True
        reference = equality.right.reference
        return reference is not None and self._scope.find(reference).key == (at, table.key.lower())

    def _join_table(
        self, rows: Rows, at: int, equality: Equality, joined: set[int], columns: dict[tuple[int, str], RelationColumn]
    ) -> Rows:
        builder, relation = self._builder, self._relations[at]
        alias, place = relation.alias or relation.operator, self._selection.sources[at].place
        left, key = self._side(rows, joined, columns, equality.left, f"{alias}-left")
        table = self._written.table(relation.operator)
        for key_type in () if table is None else table.key_types:
            check_keys(builder, equality, left.types[key.lower()], key_type)
        if relation.operator not in self._written.broadcast:
            left = self._partitioned(left, key, f"{alias}-by-{key}", place)
        name = builder.step_name(self._step, f"{alias}-join")
        type_ = "left" if at in self._outer else "inner"
        builder.add(name, left.operator, "joinTable", {"table": relation.operator, "on": key, "type": type_}, place)
        lost = _LOST if at in self._outer else None
        for column in relation.columns:
            of_key = column is relation.columns[0]
            columns[at, column.name.lower()] = replace(
                column, stored=key if of_key else column.name, lost=lost if of_key else None
            )
        return self._joined(replace(left, operator=name), {*joined, at}, columns)

    def _join(
        self, rows: Rows, at: int, equality: Equality, joined: set[int], columns: dict[tuple[int, str], RelationColumn]
    ) -> Rows:
        builder, relation = self._builder, self._relations[at]
        alias, place = relation.alias or str(at), self._selection.sources[at].place
        if (rows.key is None) != (relation.key is None):
            raise SqlIssue(
                place,
                "one side is a running result and the other one has events, which have no key by which a pair could "
                "replace an earlier one; join the rows before they are grouped, or group them by a window",
            )
        within = None
        if len(joined) == 1 and rows.key is None:
            within = time_bounds(builder, self._conditions, self._scope, next(iter(joined)), at)
        left, left_key = self._side(rows, joined, columns, equality.left, f"{alias}-left")
        alone = replace(rows_of(builder, relation), scope=self._scope)
        right, right_key = self._side(alone, {at}, columns, equality.right, f"{alias}-right")
        check_keys(builder, equality, left.types[left_key.lower()], right.types[right_key.lower()])
        left = self._partitioned(left, left_key, f"{alias}-left-by-{left_key}", place)
        right = self._partitioned(right, right_key, f"{alias}-right-by-{right_key}", place)
        value: dict[str, object] = {"with": right.operator, "on": {"left": left_key, "right": right_key}}
        if within is not None:
            value["within"] = dict(zip(("before", "after"), map(format_duration, within), strict=True))
        name = builder.step_name(self._step, f"{alias}-join")
        builder.add(name, left.operator, "join", value, place)
        replaced = _joined_key(left, right, right_key)
        for key, column in tuple(columns.items()):
            if key[0] == at and column.stored.lower() == right_key.lower():
                other = left.types[left_key.lower()]
                columns[key] = replace(column, stored=left_key, cast=None if other == column.type else column.type)
        partitioned = frozenset([left_key.lower()])
        after = replace(left, operator=name, timing=None, nulls=frozenset(), partitioned=partitioned, key=replaced)
        return self._joined(after, {*joined, at}, columns)

    def _side(
        self,
        rows: Rows,
        sides: set[int],
        columns: dict[tuple[int, str], RelationColumn],
        expression: SqlExpression,
        step: str,
    ) -> tuple[Rows, str]:
        """Add the step that names the columns of a side and computes its key; return its rows and the key."""
        builder = self._builder
        outputs: list[Output] = []
        renamed: dict[tuple[int, str], RelationColumn] = {}
        for (at, name), made in self._names.items():
            column = columns.get((at, name)) or self._relations[at].get(name)
            if at not in sides or column is None or column.lost is not None:
                continue
            outputs.append(Output(name=made, text=column.text, span=expression.span))
            renamed[at, name] = replace(column, stored=made, cast=None)
        found = None if expression.reference is None else self._scope.find(expression.reference)
        plain = None if found is None or found.fields else renamed.get((found.relation, found.column.name.lower()))
        if plain is not None:
            key = plain.stored
        else:
            key = unique("key", self._taken)
            text = write(expression, self._scope, lambda one: self._text(one, columns))
            outputs.append(Output(name=key, text=text, span=expression.span))
        for old in rows.key or ():
            if not any(output.text.strip("`").lower() == old.lower() for output in outputs):
                outputs.append(Output(name=unique(old, self._taken), text=backquoted(old), span=expression.span))
        name = builder.step_name(self._step, step)
        builder.add(name, rows.operator, "map", ", ".join(o.item for o in outputs), {o.item: o.span for o in outputs})
        columns |= renamed
        kept: dict[str, str] = {}
        for output in outputs:
            if output.text.strip("`").lower() in rows.types:
                kept.setdefault(output.text.strip("`").lower(), output.name)
        partitioned = frozenset(
            output.name.lower() for output in outputs if output.text.strip("`").lower() in rows.partitioned
        )
        replaced = None if rows.key is None else tuple(kept[old.lower()] for old in rows.key)
        rows = replace(rows, operator=name, partitioned=partitioned, key=replaced, types=types_of(builder, name))
        return rows, key

    def _text(self, found: Found, columns: Mapping[tuple[int, str], RelationColumn]) -> str:
        column = columns.get((found.relation, found.column.name.lower()))
        return found.text if column is None else replace(found, column=column).text

    def _partitioned(self, rows: Rows, key: str, step: str, place: Span) -> Rows:
        if key.lower() in rows.partitioned:
            return rows
        name = self._builder.step_name(self._step, step)
        self._builder.add(name, rows.operator, "partitionBy", {"key": key}, place)
        moved = rows.key is not None and key.lower() not in map(str.lower, rows.key)
        replaced = (*rows.key, key) if moved and rows.key is not None else rows.key
        return replace(rows, operator=name, partitioned=frozenset([key.lower()]), key=replaced)

    def _joined(self, rows: Rows, joined: set[int], columns: Mapping[tuple[int, str], RelationColumn]) -> Rows:
        """Return the rows of a join with the names that the query has for their columns."""
        relations = [
            replace(
                relation,
                operator=rows.operator,
                columns=tuple(
                    columns.get((at, column.name.lower()), column)
                    for column in relation.columns
                    if at not in joined or (at, column.name.lower()) in columns
                ),
            )
            for at, relation in enumerate(self._relations)
        ]
        return replace(rows, scope=Scope(relations), types=types_of(self._builder, rows.operator))


def _joined_key(left: Rows, right: Rows, right_on: str) -> tuple[str, ...] | None:
    """Return the key of the pairs of two running results: those of both rows, with what they are joined by once."""
    if left.key is None or right.key is None:
        return None
    return (*left.key, *(column for column in right.key if column.lower() != right_on.lower()))
