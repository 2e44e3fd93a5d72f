"""The columns of the sources of a query on their way through its joins: their names, and the sides of each join."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from streamapp_core.plan.join_sides import written_key
from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
    unique,
)
from streamapp_core.plan.sql_operators.rows import Rows, partitioned_under, types_of, write
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.plan.stream_types.stream_partitioning import hashed_by
from streamapp_core.schema import Schema
from streamapp_core.sql.query_tree import Selection, Span, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression


class SourceColumns:
    """The columns that a query reads of its sources, and where they stand in the rows that are joined so far."""

    def __init__(self, builder: StepBuilder, scope: Scope, step: str) -> None:
        """Take the sources, and the name of the step that their joins are parts of."""
        self._builder = builder
        self._scope = scope
        self._step = step
        self._names: dict[tuple[int, str], str] = {}
        self._taken: set[str] = set()
        self._stands: dict[tuple[int, str], RelationColumn] = {}

    def name(self, selection: Selection, tables: Mapping[int, Schema], used: Sequence[Found]) -> None:
        """Name the columns that are needed so that no two of the joined rows have one name.

        Args:
            selection: what joins the sources.
            tables: the columns of tables, which keep their names.
            used: what the query reads.

        Raises:
            SqlIssue: two tables have a column of one name.
        """
        for at, table in tables.items():
            for column in table.columns:
                if column.name.lower() in self._taken:
                    raise SqlIssue(
                        selection.sources[at].place,
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
                name = f"{self._scope.relations[found.relation].alias or 'other'}_{name}"
            self._names[key] = unique(name, self._taken)

    def stands(self, found: Found) -> RelationColumn:
        """Return where a column stands."""
        return self._stands.get((found.relation, found.column.name.lower()), found.column)

    def text(self, found: Found) -> str:
        """Return the expression that reads a column, or a field in it."""
        return replace(found, column=self.stands(found)).text

    def stored(self, at: int) -> set[str]:
        """Return the columns that a source has in the joined rows, in lower case."""
        return {column.stored.lower() for (place, _), column in self._stands.items() if place == at}

    def put(self, at: int, column: RelationColumn) -> None:
        """Note where a column of a source stands now."""
        self._stands[at, column.name.lower()] = column

    def put_key(self, at: int, left: Rows, keys: Mapping[str, str]) -> None:
        """Note that the columns of the key of a side (lower case) stand in those of the left side from now on."""
        for place, column in tuple(self._stands.items()):
            left_key = keys.get(column.stored.lower()) if place[0] == at else None
            if left_key is not None:
                other = left.types[left_key.lower()]
                self._stands[place] = replace(
                    column, stored=left_key, cast=None if other == column.type else column.type
                )

    def add_side(
        self,
        rows: Rows,
        sources: Collection[int],
        expressions: Sequence[SqlExpression],
        step: str,
        *,
        names: Sequence[str] = (),
        copies: bool = False,
    ) -> tuple[Rows, list[str]]:
        """Add the step that names the columns of a side and computes its key; return its rows and the key.

        Args:
            rows: of the side.
            sources: those that it has been made of.
            expressions: what it is joined by.
            step: the name of the step.
            names: what the columns of the key are called; none: as they are.
            copies: whether the key has columns of its own, beside those that the query reads.
        """
        builder = self._builder
        outputs: list[Output] = []
        renamed: dict[tuple[int, str], RelationColumn] = {}
        for (at, name), made in self._names.items():
            column = self._stands.get((at, name)) or self._scope.relations[at].get(name)
            if at not in sources or column is None or column.lost is not None:
                continue
            outputs.append(Output(name=made, text=column.text, span=expressions[0].span))
            renamed[at, name] = replace(column, stored=made, cast=None)
        keys: list[str] = []
        for place, expression in enumerate(expressions):
            found = None if expression.reference is None or copies else self._scope.find(expression.reference)
            column_of = None if found is None or found.fields else (found.relation, found.column.name.lower())
            plain = None if column_of is None else renamed.get(column_of)
            if column_of is not None and plain is not None and plain.stored not in keys:
                key = names[place] if names else plain.stored
                outputs = [replace(output, name=key) if output.name == plain.stored else output for output in outputs]
                renamed[column_of] = replace(plain, stored=key)
            else:
                key = names[place] if names else unique("key", self._taken)
                text = write(expression, self._scope, self.text)
                # the first output of a column is its name as a key (`plan.stream_types.infer_types`)
                outputs.insert(place if copies else len(outputs), Output(name=key, text=text, span=expression.span))
            keys.append(key)
        whole = expressions[0].span
        for old in rows.key or ():
            if not any(output.text.strip("`").lower() == old.lower() for output in outputs):
                outputs.append(Output(name=unique(old, self._taken), text=backquoted(old), span=whole))
        name = builder.step_name(self._step, step)
        builder.add(name, rows.operator, "map", ", ".join(o.item for o in outputs), {o.item: o.span for o in outputs})
        self._stands |= renamed
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

    def partition(self, rows: Rows, keys: Sequence[str], step: str, place: Span) -> Rows:
        """Add the step that brings rows with equal keys together, unless they are so already."""
        wanted, here = hashed_by(keys), rows.partitioned
        alike = here is not None and here.encoding == wanted.encoding
        if here is not None and alike and all(map(frozenset.issuperset, here.columns, wanted.columns)):
            return rows
        name = self._builder.step_name(self._step, step)
        self._builder.add(name, rows.operator, "partitionBy", {"key": written_key(keys)}, place)
        moved = [key for key in keys if rows.key is not None and key.lower() not in map(str.lower, rows.key)]
        replaced = None if rows.key is None else (*rows.key, *moved)
        return replace(rows, operator=name, partitioned=wanted, key=replaced)

    def join(self, rows: Rows, joined: Collection[int]) -> Rows:
        """Return the rows of a join with the names that the query has for the columns of what is joined."""
        relations: list[Relation] = [
            replace(
                relation,
                operator=rows.operator,
                columns=tuple(
                    self._stands.get((at, column.name.lower()), column)
                    for column in relation.columns
                    if at not in joined or (at, column.name.lower()) in self._stands
                ),
            )
            for at, relation in enumerate(self._scope.relations)
        ]
        return replace(rows, scope=Scope(relations), types=types_of(self._builder, rows.operator))
