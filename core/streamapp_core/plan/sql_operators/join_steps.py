"""Joins of a query: each source comes to those before it by an equality of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamapp_core.plan.join_sides import written_key
from streamapp_core.plan.joined_columns import keys_match, without
from streamapp_core.plan.sql_operators.join_conditions import (
    Equality,
    check_keys,
    compared_columns,
    equalities_of_key,
    equality_of,
    is_key,
    outer_join_operators,
    sources_of,
    time_bounds,
)
from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
    unique,
)
from streamapp_core.plan.sql_operators.rows import (
    Rows,
    filter_rows,
    has_key,
    joined_key,
    partitioned_under,
    rows_of,
    types_of,
    write,
)
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.used_columns import check_columns, used_columns
from streamapp_core.plan.sql_operators.written_sources import WrittenSources
from streamapp_core.plan.stream_types.stream_partitioning import hashed_by
from streamapp_core.schema import Column, Schema
from streamapp_core.spec.base import format_duration
from streamapp_core.sql.query_tree import JoinKind, Selection, Source, Span, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression

_LOST = "this is null where the table has no row: take the column of the other side, to which it is equal otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table that is joined: the columns of its key, and those that a row has of it."""

    key: tuple[str, ...]
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
                written = outer_join_operators(self._builder, self._selection, self._scope, at)
                raise SqlIssue(
                    source.place,
                    "without a bound in time a row of a stream is never known to have no partner: make it an inner "
                    f"join, or write the operators {written}, whose `within` is how far apart in "
                    "event time partners may be",
                )
            if at in self._outer and source.join is not JoinKind.LEFT:
                raise SqlIssue(source.place, "a table has no rows of its own to read: write `join` or `left join`")

    def _table(self, at: int, source: Source) -> Relation:
        name = str(source.relation)
        table = self._written.table(name)
        if table is None or table.stored is None:
            raise Refused
        if table.key_columns is None:
            raise SqlIssue(
                source.place, f"the key of table `{name}` is computed; join it by an operator with `joinTable`"
            )
        rest = without(table.stored, table.key_columns)
        self._tables[at] = _Table(key=table.key_columns, schema=Schema(tuple(rest)))
        keys = [Column(key, type_) for key, type_ in zip(table.key_columns, table.key_types, strict=True)]
        columns = [RelationColumn(name=column.name, stored=column.name, type=column.type) for column in (*keys, *rest)]
        return Relation(operator=name, alias=source.alias or name, columns=tuple(columns))

    def _join_all(self) -> tuple[Rows, tuple[Span, ...]]:
        builder = self._builder
        self._push_down()
        self._name_columns(used_columns(builder, self._selection, self._conditions, self._scope))
        rows = rows_of(builder, self._relations[0])
        joined, waiting = {0}, list(range(1, len(self._relations)))
        columns: dict[tuple[int, str], RelationColumn] = {}
        rows = replace(rows, scope=Scope([self._relations[0]]))
        while waiting:
            at, equalities = self._next(rows, joined, waiting, columns)
            waiting.remove(at)
            join = self._join_table if at in self._tables else self._join
            rows = join(rows, at, equalities, joined, columns)
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

    def _next(
        self, rows: Rows, joined: set[int], waiting: Sequence[int], columns: Mapping[tuple[int, str], RelationColumn]
    ) -> tuple[int, Sequence[Equality]]:
        """Return a source that equalities join with those before, and these; they need not be checked any more."""
        for at in waiting:
            conditions = self._own.get(at, self._conditions)
            made = [(span, equality_of(self._builder, span, self._scope, joined, at)) for span in conditions]
            found = [(span, equality) for span, equality in made if equality is not None]
            of_table = self._tables.get(at)
            if of_table is None:
                chosen = self._of_streams(rows, at, found, columns)
            else:
                chosen = equalities_of_key(found, self._scope, [(at, column.lower()) for column in of_table.key])
            if not chosen:
                continue
            spans = [span for span, _ in chosen]
            others = [span for span in conditions if span not in spans]
            if at in self._own and others:
                raise SqlIssue(others[0], "a left join of a table has one condition: that its key is equal to a column")
            if at not in self._own:
                self._conditions = others
            return at, [equality for _, equality in chosen]
        table = self._tables.get(waiting[0])
        why = (
            "no equality joins it with what stands before it, as in `on a.key = b.key`: all pairs of rows can't be made"
        )
        if table is not None:
            why = f"a table is joined by its key: on {' and '.join(f'... = `{key}`' for key in table.key)}"
        raise SqlIssue(self._selection.sources[waiting[0]].place, why)

    def _of_streams(
        self,
        rows: Rows,
        at: int,
        found: Sequence[tuple[Span, Equality]],
        columns: Mapping[tuple[int, str], RelationColumn],
    ) -> Sequence[tuple[Span, Equality]]:
        """Return the first equality, and those of other plain columns of the same types, which stay with their rows."""
        chosen = list(found[:1])
        used = {
            side.key for _, equality in chosen for side in compared_columns(equality, self._scope) if side is not None
        }
        for span, equality in found[1:]:
            left, right = compared_columns(equality, self._scope)
            if left is None or right is None or not used.isdisjoint([left.key, right.key]):
                continue
            stands = columns.get((left.relation, left.column.name.lower()), left.column)
            stay = has_key(rows, stands.stored) and has_key(self._relations[at], right.column.stored)
            if stay and stands.lost is None and is_key(stands.type) and keys_match(stands.type, right.column.type):
                chosen.append((span, equality))
                used |= {left.key, right.key}
        return chosen

    def _join_table(
        self,
        rows: Rows,
        at: int,
        equalities: Sequence[Equality],
        joined: set[int],
        columns: dict[tuple[int, str], RelationColumn],
    ) -> Rows:
        builder, relation = self._builder, self._relations[at]
        alias, place = relation.alias or relation.operator, self._selection.sources[at].place
        left, keys = self._side(rows, joined, columns, [equality.left for equality in equalities], f"{alias}-left")
        table = self._written.table(relation.operator)
        for equality, key, key_type in zip(equalities, keys, () if table is None else table.key_types, strict=False):
            check_keys(builder, equality, left.types[key.lower()], key_type)
        if relation.operator not in self._written.broadcast:
            left = self._partitioned(left, keys, f"{alias}-by-{'-'.join(keys)}", place)
        name = builder.step_name(self._step, f"{alias}-join")
        type_ = "left" if at in self._outer else "inner"
        value = {"table": relation.operator, "on": written_key(keys), "type": type_}
        builder.add(name, left.operator, "joinTable", value, place)
        lost = _LOST if at in self._outer else None
        for position, column in enumerate(relation.columns):
            of_key = position < len(keys)
            columns[at, column.name.lower()] = replace(
                column, stored=keys[position] if of_key else column.name, lost=lost if of_key else None
            )
        return self._joined(replace(left, operator=name), {*joined, at}, columns)

    def _join(
        self,
        rows: Rows,
        at: int,
        equalities: Sequence[Equality],
        joined: set[int],
        columns: dict[tuple[int, str], RelationColumn],
    ) -> Rows:
        builder, relation = self._builder, self._relations[at]
        alias, place = relation.alias or str(at), self._selection.sources[at].place
        if (rows.key is None) != (relation.key is None):
            raise SqlIssue(
                place,
                "one side is a running result and the other one has events, which have no key by which a pair could "
                "replace an earlier one; join before grouping, group by a window, or look the results up in a table",
            )
        within = None
        if len(joined) == 1 and rows.key is None:
            within = time_bounds(builder, self._conditions, self._scope, next(iter(joined)), at)
        left, left_keys = self._side(rows, joined, columns, [one.left for one in equalities], f"{alias}-left")
        alone = replace(rows_of(builder, relation), scope=self._scope)
        names = left_keys if len(left_keys) > 1 else ()  # several are hashed with their names
        right, right_keys = self._side(
            alone, {at}, columns, [one.right for one in equalities], f"{alias}-right", names=names
        )
        for equality, left_key, right_key in zip(equalities, left_keys, right_keys, strict=True):
            check_keys(builder, equality, left.types[left_key.lower()], right.types[right_key.lower()])
        left = self._partitioned(left, left_keys, f"{alias}-left-by-{'-'.join(left_keys)}", place)
        right = self._partitioned(right, right_keys, f"{alias}-right-by-{'-'.join(right_keys)}", place)
        on: object = left_keys if names else {"left": left_keys[0], "right": right_keys[0]}
        value: dict[str, object] = {"with": right.operator, "on": on}
        if within is not None:
            value["within"] = dict(zip(("before", "after"), map(format_duration, within), strict=True))
        name = builder.step_name(self._step, f"{alias}-join")
        builder.add(name, left.operator, "join", value, place)
        replaced = joined_key(left, right, right_keys)
        of_right = {right_key.lower(): left_key for left_key, right_key in zip(left_keys, right_keys, strict=True)}
        for key, column in tuple(columns.items()):
            left_key = of_right.get(column.stored.lower(), "") if key[0] == at else ""
            if left_key:
                other = left.types[left_key.lower()]
                columns[key] = replace(column, stored=left_key, cast=None if other == column.type else column.type)
        partitioned = hashed_by(left_keys)
        after = replace(left, operator=name, timing=None, nulls=frozenset(), partitioned=partitioned, key=replaced)
        return self._joined(after, {*joined, at}, columns)

    def _side(
        self,
        rows: Rows,
        sides: set[int],
        columns: dict[tuple[int, str], RelationColumn],
        expressions: Sequence[SqlExpression],
        step: str,
        *,
        names: Sequence[str] = (),
    ) -> tuple[Rows, list[str]]:
        """Add the step that names the columns of a side and computes its key; return its rows and the key.

        The columns of the key get these `names`, if there are any.
        """
        builder = self._builder
        outputs: list[Output] = []
        renamed: dict[tuple[int, str], RelationColumn] = {}
        for (at, name), made in self._names.items():
            column = columns.get((at, name)) or self._relations[at].get(name)
            if at not in sides or column is None or column.lost is not None:
                continue
            outputs.append(Output(name=made, text=column.text, span=expressions[0].span))
            renamed[at, name] = replace(column, stored=made, cast=None)
        keys: list[str] = []
        for place, expression in enumerate(expressions):
            found = None if expression.reference is None else self._scope.find(expression.reference)
            column_of = None if found is None or found.fields else (found.relation, found.column.name.lower())
            plain = None if column_of is None else renamed.get(column_of)
            if column_of is not None and plain is not None and plain.stored not in keys:
                key = names[place] if names else plain.stored
                outputs = [replace(output, name=key) if output.name == plain.stored else output for output in outputs]
                renamed[column_of] = replace(plain, stored=key)
            else:
                key = names[place] if names else unique("key", self._taken)
                text = write(expression, self._scope, lambda one: self._text(one, columns))
                outputs.append(Output(name=key, text=text, span=expression.span))
            keys.append(key)
        whole = expressions[0].span
        for old in rows.key or ():
            if not any(output.text.strip("`").lower() == old.lower() for output in outputs):
                outputs.append(Output(name=unique(old, self._taken), text=backquoted(old), span=whole))
        name = builder.step_name(self._step, step)
        builder.add(name, rows.operator, "map", ", ".join(o.item for o in outputs), {o.item: o.span for o in outputs})
        columns |= renamed
        kept: dict[str, str] = {}
        for output in outputs:
            if output.text.strip("`").lower() in rows.types:
                kept.setdefault(output.text.strip("`").lower(), output.name)
        now: dict[str, set[str]] = {}
        for output in outputs:
            now.setdefault(output.text.strip("`").lower(), set()).add(output.name.lower())
        partitioned = partitioned_under(rows.partitioned, now)
        replaced = None if rows.key is None else tuple(kept[old.lower()] for old in rows.key)
        rows = replace(rows, operator=name, partitioned=partitioned, key=replaced, types=types_of(builder, name))
        return rows, keys

    def _text(self, found: Found, columns: Mapping[tuple[int, str], RelationColumn]) -> str:
        column = columns.get((found.relation, found.column.name.lower()))
        return found.text if column is None else replace(found, column=column).text

    def _partitioned(self, rows: Rows, keys: Sequence[str], step: str, place: Span) -> Rows:
        wanted, here = hashed_by(keys), rows.partitioned
        alike = here is not None and here.encoding == wanted.encoding
        if here is not None and alike and all(map(frozenset.issuperset, here.columns, wanted.columns)):
            return rows
        name = self._builder.step_name(self._step, step)
        self._builder.add(name, rows.operator, "partitionBy", {"key": written_key(keys)}, place)
        moved = [key for key in keys if rows.key is not None and key.lower() not in map(str.lower, rows.key)]
        replaced = None if rows.key is None else (*rows.key, *moved)
        return replace(rows, operator=name, partitioned=wanted, key=replaced)

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
