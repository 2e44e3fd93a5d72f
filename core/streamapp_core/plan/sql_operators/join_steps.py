"""Joins of a query: each source comes to those before it by an equality of their columns."""

from collections.abc import Collection, Sequence
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
    sources_of,
    time_bounds,
)
from streamapp_core.plan.sql_operators.outer_joins import changing_key, check_outer_join, may_lack_partner
from streamapp_core.plan.sql_operators.relations import Relation, RelationColumn, Scope, backquoted
from streamapp_core.plan.sql_operators.rows import Rows, filter_rows, has_key, joined_key, rows_of, write
from streamapp_core.plan.sql_operators.source_columns import SourceColumns
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.ttl_steps import ttl_fields
from streamapp_core.plan.sql_operators.used_columns import check_columns, used_columns
from streamapp_core.plan.sql_operators.written_sources import WrittenSources
from streamapp_core.plan.stream_types.stream_partitioning import hashed_by
from streamapp_core.schema import Column, Schema
from streamapp_core.spec.base import format_duration
from streamapp_core.sql.query_tree import JoinKind, Selection, Source, Span, SqlIssue
from streamapp_core.sql.sql_expressions import read_expression

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
        self._columns = SourceColumns(builder, self._scope, scope)
        self._conditions: list[Span] = []
        self._own: dict[int, Sequence[Span]] = {}

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
        self._check_sources(where)
        self._conditions = [*where]
        for at, source in enumerate(sources):
            if at in self._outer:
                self._own[at] = source.on
            else:
                self._conditions += source.on
        conditions = [*self._conditions, *(span for own in self._own.values() for span in own)]
        check_columns(self._builder, self._selection, conditions, self._scope)
        return self._join_all()

    def _check_sources(self, where: Sequence[Span]) -> None:
        aliases = [(relation.alias or "").lower() for relation in self._relations]
        for at, source in enumerate(self._selection.sources):
            if aliases[at] and aliases[at] in aliases[:at]:
                raise SqlIssue(source.place, f"`{aliases[at]}` stands twice; name one by `as`")
            if at in self._tables and source.join in (JoinKind.RIGHT, JoinKind.FULL):
                raise SqlIssue(source.place, "a table has no rows of its own to read: write `join` or `left join`")
        self._builder.gather(
            lambda at: check_outer_join(
                self._builder, self._selection, self._scope, at, tables=[*self._tables], where=where
            ),
            sorted(self._outer - self._tables.keys()),
        )

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
        self._columns = SourceColumns(builder, self._scope, self._step)
        tables = {at: table.schema for at, table in self._tables.items()}
        self._columns.name(
            self._selection, tables, used_columns(builder, self._selection, self._conditions, self._scope)
        )
        rows = replace(rows_of(builder, self._relations[0]), scope=Scope([self._relations[0]]))
        joined, waiting = {0}, list(range(1, len(self._relations)))
        while waiting:
            at, equalities = self._next(rows, joined, waiting)
            waiting.remove(at)
            join = self._join_table if at in self._tables else self._join
            rows = join(rows, at, equalities, joined)
            joined.add(at)
        return rows, tuple(self._conditions)

    def _push_down(self) -> None:
        """Filter each stream by the conditions on it alone, before it is joined, where that is the same."""
        joins = {at: self._selection.sources[at].join for at in self._outer - self._tables.keys()}
        lacking = may_lack_partner(joins, len(self._relations))
        for at, relation in enumerate(self._relations):
            if at in self._tables:
                continue
            own = [] if at in lacking else self._on_alone(self._conditions, at)
            for place, kind in joins.items():
                if at in may_lack_partner({place: kind}, len(self._relations)) and kind is not JoinKind.FULL:
                    own += self._on_alone(self._own[place], at)
                    self._own[place] = [span for span in self._own[place] if span not in own]
            if not own:
                continue
            name = self._builder.step_name(self._step, f"{relation.alias or at}-where")
            rows = filter_rows(self._builder, replace(rows_of(self._builder, relation), scope=self._scope), own, name)
            self._conditions = [span for span in self._conditions if span not in own]
            self._relations[at] = replace(relation, operator=name, nulls=rows.nulls)
        self._scope = Scope(self._relations)

    def _on_alone(self, conditions: Sequence[Span], at: int) -> list[Span]:
        return [span for span in conditions if sources_of(self._builder, span, self._scope) == {at}]

    def _next(self, rows: Rows, joined: set[int], waiting: Sequence[int]) -> tuple[int, Sequence[Equality]]:
        """Return a source that equalities join with those before, and these; they need not be checked any more."""
        for at in waiting:
            found = self._equalities(at, joined)
            chosen = self._of_key(at, found) if self._key_of(at) else self._of_streams(rows, at, found)
            if not chosen:
                continue
            spans = [span for span, _ in chosen]
            others = [span for span in self._own.get(at, self._conditions) if span not in spans]
            if at in self._own:
                self._own[at] = others
            else:
                self._conditions = others
            return at, [equality for _, equality in chosen]
        self._builder.gather(self._refuse_apart, [at for at in waiting if not self._meets(at)] or waiting[:1])
        raise Refused

    def _equalities(self, at: int, joined: Collection[int]) -> Sequence[tuple[Span, Equality]]:
        """Return the conditions of a join that equate something of a source and of those that are joined."""
        conditions = self._own.get(at, self._conditions)
        made = [(span, equality_of(self._builder, span, self._scope, joined, at)) for span in conditions]
        return [(span, equality) for span, equality in made if equality is not None]

    def _of_key(self, at: int, found: Sequence[tuple[Span, Equality]]) -> Sequence[tuple[Span, Equality]]:
        """Return an equality for each column of the key of a source; none if one has none."""
        return equalities_of_key(found, self._scope, [(at, column.lower()) for column in self._key_of(at)])

    def _key_of(self, at: int) -> Sequence[str]:
        """Return the key of a table, or of changing rows of which each other row has one at most; else nothing."""
        if at in self._tables:
            return self._tables[at].key
        return changing_key(self._relations[at]) if at in self._outer else ()

    def _meets(self, at: int) -> bool:
        """Return whether a source would be joined, if all before it were."""
        found = self._equalities(at, range(at))
        return bool(self._of_key(at, found) if self._key_of(at) else found)

    def _refuse_apart(self, at: int) -> None:
        """Refuse a source that no equality joins with those before.

        Raises:
            SqlIssue: always.
        """
        table = self._tables.get(at)
        why = (
            "no equality joins it with what stands before it, as in `on a.key = b.key`: all pairs of rows can't be made"
        )
        if table is not None:
            why = f"a table is joined by its key: on {' and '.join(f'... = `{key}`' for key in table.key)}"
        raise SqlIssue(self._selection.sources[at].place, why)

    def _of_streams(
        self, rows: Rows, at: int, found: Sequence[tuple[Span, Equality]]
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
            stands = self._columns.stands(left)
            stay = has_key(rows, stands.stored) and has_key(self._relations[at], right.column.stored)
            if stay and stands.lost is None and is_key(stands.type) and keys_match(stands.type, right.column.type):
                chosen.append((span, equality))
                used |= {left.key, right.key}
        return chosen

    def _join_table(self, rows: Rows, at: int, equalities: Sequence[Equality], joined: set[int]) -> Rows:
        builder, relation, columns = self._builder, self._relations[at], self._columns
        alias, place = relation.alias or relation.operator, self._selection.sources[at].place
        left, keys = columns.add_side(rows, joined, [equality.left for equality in equalities], f"{alias}-left")
        table = self._written.table(relation.operator)
        for equality, key, key_type in zip(equalities, keys, () if table is None else table.key_types, strict=False):
            check_keys(builder, equality, left.types[key.lower()], key_type)
        if relation.operator not in self._written.broadcast:
            left = columns.partition(left, keys, f"{alias}-by-{'-'.join(keys)}", place)
        name = builder.step_name(self._step, f"{alias}-join")
        type_ = "left" if at in self._outer else "inner"
        value = {"table": relation.operator, "on": written_key(keys), "type": type_}
        builder.add(name, left.operator, "joinTable", value, place)
        of_key = {column.name: key for column, key in zip(relation.columns, keys, strict=False)}
        for column in relation.columns:
            columns.put(at, replace(column, stored=of_key.get(column.name, column.name)))
        if self._own.get(at):
            name = self._without_others(name, at, columns.stored(at) - {key.lower() for key in keys})
        if at in self._outer:
            for column in relation.columns[: len(keys)]:
                columns.put(at, replace(column, stored=of_key[column.name], lost=_LOST))
        return columns.join(replace(left, operator=name), {*joined, at})

    def _without_others(self, joined: str, at: int, columns: Collection[str]) -> str:
        """Add the step that leaves the only partner of a row out where other conditions of a left join are not true."""
        spans, schema = self._own[at], self._builder.schema(joined)
        condition = self._condition(spans)
        assert schema is not None
        items = [
            f"if({condition}, {backquoted(column)}, null) as {backquoted(column)}"
            if column.lower() in columns
            else backquoted(column)
            for column in schema.names
        ]
        name = self._builder.step_name(self._step, f"{self._relations[at].alias or at}-on")
        self._builder.add(name, joined, "map", ", ".join(items), dict.fromkeys(items, _around(spans)))
        return name

    def _condition(self, spans: Sequence[Span]) -> str:
        """Return several conditions as one, over the columns as they stand."""
        texts = [write(read_expression(self._builder.text, span), self._scope, self._columns.text) for span in spans]
        return texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)

    def _join(self, rows: Rows, at: int, equalities: Sequence[Equality], joined: set[int]) -> Rows:
        builder, relation, columns = self._builder, self._relations[at], self._columns
        alias, place = relation.alias or str(at), self._selection.sources[at].place
        if (rows.key is None) != (relation.key is None):
            raise SqlIssue(
                place,
                "one side is a running result and the other one has events, which have no key by which a pair could "
                "replace an earlier one; join before grouping, group by a window, or look the results up in a table",
            )
        kind, outer = self._selection.sources[at].join, at in self._outer
        within = None
        if rows.timing is not None and rows.key is None:
            conditions = [*self._selection.sources[at].on] if outer else self._conditions
            within = time_bounds(builder, conditions, self._scope, 0, at)
        lacking = may_lack_partner({1: kind}, 2) if outer else set[int]()
        left, left_keys = columns.add_side(
            rows, joined, [one.left for one in equalities], f"{alias}-left", copies=0 in lacking
        )
        alone = replace(rows_of(builder, relation), scope=self._scope)
        names = left_keys if len(left_keys) > 1 else ()  # several are hashed with their names
        right, right_keys = columns.add_side(
            alone, {at}, [one.right for one in equalities], f"{alias}-right", names=names, copies=1 in lacking
        )
        for equality, left_key, right_key in zip(equalities, left_keys, right_keys, strict=True):
            check_keys(builder, equality, left.types[left_key.lower()], right.types[right_key.lower()], kind)
        left = columns.partition(left, left_keys, f"{alias}-left-by-{'-'.join(left_keys)}", place)
        right = columns.partition(right, right_keys, f"{alias}-right-by-{'-'.join(right_keys)}", place)
        of_right = {right_key.lower(): left_key for left_key, right_key in zip(left_keys, right_keys, strict=True)}
        columns.put_key(at, left, of_right)
        on: object = left_keys if names else {"left": left_keys[0], "right": right_keys[0]}
        value: dict[str, object] = {"with": right.operator, "on": on}
        if within is not None:
            value["within"] = dict(zip(("before", "after"), map(format_duration, within), strict=True))
        else:
            value |= ttl_fields(self._selection, left)
        places = place
        if outer:
            value["type"] = str(kind)
        if self._own.get(at) and within is not None:
            value["condition"] = self._condition(self._own[at])
            places = _around(self._own[at])
        name = builder.step_name(self._step, f"{alias}-join")
        builder.add(name, left.operator, "join", value, places)
        if self._own.get(at) and within is None:
            name = self._without_others(name, at, columns.stored(at))
        replaced = joined_key(left, right, right_keys)
        partitioned = hashed_by(left_keys)
        after = replace(left, operator=name, timing=None, nulls=frozenset(), partitioned=partitioned, key=replaced)
        return columns.join(after, {*joined, at})


def _around(spans: Sequence[Span]) -> Span:
    return Span(spans[0].start, spans[-1].end)
