"""A query as steps: its parts one after the other, from what it reads to what it selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.parsing import output_names
from streamapp_core.expressions.type_rules import NUMERIC, common_number
from streamapp_core.plan.sql_operators.group_steps import group_rows, groups_rows
from streamapp_core.plan.sql_operators.join_steps import Joins
from streamapp_core.plan.sql_operators.over_steps import add_last_rows
from streamapp_core.plan.sql_operators.ranking_steps import Limit, limits_of, rank_rows
from streamapp_core.plan.sql_operators.relations import (
    Found,
    Output,
    Relation,
    RelationColumn,
    Scope,
    first_names,
    unique,
)
from streamapp_core.plan.sql_operators.rows import Rows, filter_rows, partitioned_under, write
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.ttl_steps import check_ttl, check_ttl_used, ttl_fields
from streamapp_core.plan.sql_operators.written_sources import WrittenSources
from streamapp_core.plan.stream_types.stream_partitioning import hashed_by
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import DataType
from streamapp_core.sql.query_tree import Item, Query, Selection, Source, Span, SqlIssue
from streamapp_core.sql.sql_expressions import read_expression


@dataclass(slots=True)
class _Named:
    """A query of a `with`; `relation` is what it emits, once something reads it."""

    query: Query
    place: Span
    name: str
    outer: "Mapping[str, _Named]"
    relation: Relation | None = None
    read: bool = False


class QuerySteps:
    """The steps of one query, with what it reads."""

    def __init__(self, builder: StepBuilder, sources: WrittenSources) -> None:
        self._builder = builder
        self._sources = sources

    def whole(self, query: Query) -> Relation:
        """Make the steps of a query, and return its rows; the last step has the name of the operator.

        Raises:
            Refused: it can't be planned; the issues are kept.
        """
        return self._query(query, self._builder.name, {}, None)

    def _query(self, query: Query, scope: str, outer: Mapping[str, _Named], limit: Limit | None) -> Relation:
        named = dict(outer)
        own: list[_Named] = []
        for name, inner in query.named:
            own.append(_Named(inner, inner.place, name, dict(named)))
            named[name.lower()] = own[-1]
        relation = self._selections(query, scope, named, limit)
        for one in own:
            if not one.read:
                self._builder.refuse(SqlIssue(one.place, f"nothing reads `{one.name}`; leave it out"))
                raise Refused
        return relation

    def _selections(self, query: Query, scope: str, named: Mapping[str, _Named], limit: Limit | None) -> Relation:
        if len(query.selections) == 1:
            return self._branch(query.selections[0], scope, named, limit)
        builder = self._builder
        names = [builder.step_name(scope, str(number)) for number, _ in enumerate(query.selections, 1)]
        first: list[str] = []

        def branch_of(number: int) -> Relation:
            selection = query.selections[number]
            if number == 0:
                relation = self._branch(selection, names[0], named, None)
                first.extend(column.name for column in relation.columns)
                return relation
            return self._branch(_named_like(builder.text, selection, first), names[number], named, None)

        branches = builder.gather(branch_of, range(len(names)))
        return self._union(query, scope, branches)

    def _union(self, query: Query, scope: str, branches: Sequence[Relation]) -> Relation:
        builder, first = self._builder, branches[0]
        for branch in branches[1:]:
            if len(branch.columns) != len(first.columns):
                raise SqlIssue(
                    query.place,
                    f"the queries of `union all` have {len(first.columns)} and {len(branch.columns)} columns; make "
                    "them alike",
                )
        types = [
            _common([branch.columns[place].type for branch in branches], column.name, query.place)
            for place, column in enumerate(first.columns)
        ]
        first = replace(first, columns=tuple(replace(c, type=t) for c, t in zip(first.columns, types, strict=True)))
        aligned = [self._renamed(branch, first, query.place) for branch in branches]
        builder.add(scope, [branch.operator for branch in aligned], "merge", {}, query.place)
        timed = all(branch.timing is not None for branch in branches)
        timings = [branch.timing.columns if branch.timing else () for branch in branches]
        timing = first.timing if timed and all(columns == timings[0] for columns in timings) else None
        columns = []
        for place, column in enumerate(first.columns):
            origins = {branch.columns[place].origin for branch in branches}
            columns.append(replace(column, origin=column.origin if len(origins) == 1 and timing else None))
        return Relation(
            operator=scope,
            alias=None,
            columns=tuple(columns),
            timing=timing,
            nulls=frozenset.intersection(*(branch.nulls for branch in branches)),
        )

    def _renamed(self, branch: Relation, first: Relation, place: Span) -> Relation:
        """Return a branch with the names of the first one, in its order and without hidden columns."""
        stored = tuple(column.stored for column in branch.columns)
        wanted = tuple(column.stored for column in first.columns)
        schema = self._builder.schema(branch.operator)
        cast = [
            None if column.type == other.type else other.type
            for column, other in zip(branch.columns, first.columns, strict=True)
        ]
        if schema is not None and schema.names == stored and stored == wanted and not any(cast):
            return branch
        outputs = [
            Output(name=name, text=replace(column, cast=type_).text, span=place)
            for name, column, type_ in zip(wanted, branch.columns, cast, strict=True)
        ]
        name = self._builder.step_name(branch.operator, "renamed")
        self._builder.add(name, branch.operator, "map", ", ".join(output.item for output in outputs), place)
        return replace(branch, operator=name)

    def _branch(
        self, branch: Selection | Query, scope: str, named: Mapping[str, _Named], limit: Limit | None
    ) -> Relation:
        if isinstance(branch, Query):
            return self._query(branch, scope, named, limit)
        return self._selection(branch, scope, named, limit)

    def _selection(
        self, selection: Selection, scope: str, named: Mapping[str, _Named], limit: Limit | None
    ) -> Relation:
        builder = self._builder
        limits, where = limits_of(builder.text, selection, self._numbered(selection, named))
        relations = builder.gather(
            lambda number: self._source(selection.sources[number], scope, named, limits.get(number)),
            range(len(selection.sources)),
        )
        check_ttl(builder, selection, relations)
        before = len(builder.steps)
        relation = self._planned(selection, relations, where, scope, limit)
        check_ttl_used(selection, builder.steps[before:])
        return relation

    def _planned(
        self,
        selection: Selection,
        relations: Sequence[Relation | None],
        where: Sequence[Span],
        scope: str,
        limit: Limit | None,
    ) -> Relation:
        """Return the rows of a selection, given those of its sources."""
        builder = self._builder
        joins = Joins(builder, self._sources, selection, scope)
        rows, left = joins.make(relations, where)
        rows = filter_rows(builder, rows, left, builder.step_name(scope, "where") if left else "")
        windows = [item for item in selection.items if item.window is not None]
        ranked = [item for item in windows if item.row_number is not None]
        if groups_rows(builder.text, selection):
            if windows:
                raise SqlIssue(windows[0].place, "groups come first: write it in a query around this one")
            rows, outputs = group_rows(builder, selection, rows, scope)
        elif ranked:
            rows, outputs = rank_rows(builder, selection, rows, scope, limit=limit, outputs_of=self._outputs)
        elif windows:
            rows, outputs = add_last_rows(builder, selection, rows, scope, outputs_of=self._outputs)
        else:
            outputs = self._outputs(selection.items, rows.scope)
        if not selection.distinct:
            return self._project(rows, outputs, scope)
        if ranked:
            raise SqlIssue(ranked[0].place, "numbered rows are all different; leave out `distinct`")
        return self._distinct(selection, rows, outputs, scope)

    def _distinct(self, selection: Selection, rows: Rows, outputs: Sequence[Output], scope: str) -> Relation:
        builder = self._builder
        selected = self._project(rows, outputs, builder.step_name(scope, "select"))
        place = outputs[0].span
        by = [column.stored for column in selected.columns]
        source = selected.operator
        if selected.partitioned is None or not selected.partitioned.within(by):
            source = builder.step_name(scope, f"by-{by[0]}")
            builder.add(source, selected.operator, "partitionBy", {"key": by[0]}, place)
            selected = replace(selected, partitioned=hashed_by(by[:1]))
        name = builder.step_name(scope, "distinct")
        builder.add(name, source, "dedup", {"by": by} | ttl_fields(selection, rows), place)
        builder.add(scope, name, "map", "*", place)
        return replace(selected, operator=scope, timing=selected.timing)

    def _outputs(self, items: Sequence[Item], scope: Scope) -> list[Output]:
        """Return the columns of a select list, with all that stars mean."""
        made = self._builder.gather(
            lambda item: _output(self._builder.text, item, scope), [item for item in items if item.window is None]
        )
        return [output for outputs in made for output in outputs]

    def _project(self, rows: Rows, outputs: Sequence[Output], name: str) -> Relation:
        """Add the step that emits the columns of a select list; the key of rows that replace others goes along."""
        builder = self._builder
        taken: set[str] = set()

        def take(output: Output) -> None:
            if output.name.lower() in taken and not output.generates:
                raise SqlIssue(output.span, f"two columns are named `{output.name}`; rename one with `as`")
            taken.add(output.name.lower())

        builder.gather(take, outputs)
        stored = first_names(outputs)
        whole = Span(outputs[0].span.start, outputs[-1].span.end)
        hidden: dict[str, str] = {}
        for column in rows.key or ():
            if column.lower() in stored:
                continue
            if name == builder.name:
                builder.refuse_as(
                    ProblemCode.CHANGES_UNSUPPORTED,
                    whole,
                    "these rows change, and a later one replaces the earlier one by its key: "
                    f"{_how_to_select(column, rows.scope)}",
                )
                raise Refused
            hidden[column] = unique(column, taken)
        extra = [
            Output(name=new, text=RelationColumn(name=old, stored=old, type=rows.types[old.lower()]).text, span=whole)
            for old, new in hidden.items()
        ]
        places = {output.item: output.span for output in (*outputs, *extra)}
        generates = any(output.generates for output in outputs)
        schema = builder.add(name, rows.operator, "flatMap" if generates else "map", ", ".join(places), places)
        now = stored | {old.lower(): new for old, new in hidden.items()}
        kept = {column.name.lower(): column for column in schema.columns}
        found = {output.name.lower(): output.found for output in outputs}
        visible = [column for key, column in kept.items() if key not in {new.lower() for new in hidden.values()}]
        return Relation(
            operator=name,
            alias=None,
            columns=tuple(
                RelationColumn(
                    name=column.name,
                    stored=column.name,
                    type=column.type,
                    origin=source.origin if (source := found.get(column.name.lower())) is not None else None,
                )
                for column in visible
            ),
            timing=rows.timing,
            nulls=rows.nulls,
            partitioned=partitioned_under(rows.partitioned, {old: (new.lower(),) for old, new in now.items()}),
            key=None if rows.key is None else tuple(now[column.lower()] for column in rows.key),
        )

    def _numbered(self, selection: Selection, named: Mapping[str, _Named]) -> dict[int, Item]:
        """Return, of each source that is a query with the number of a row, the item that is this number."""
        found = {}
        for number, source in enumerate(selection.sources):
            query: Query | None = source.relation if isinstance(source.relation, Query) else None
            if isinstance(source.relation, str) and source.relation.lower() in named:
                query = named[source.relation.lower()].query
            while query is not None and len(query.selections) == 1:
                inner = query.selections[0]
                if isinstance(inner, Query):
                    query = inner
                    continue
                item = next((item for item in inner.items if item.row_number is not None), None)
                if item is not None:
                    found[number] = item
                break
        return found

    def _source(self, source: Source, scope: str, named: Mapping[str, _Named], limit: Limit | None) -> Relation | None:
        """Return the rows of a source; None: it is a table."""
        builder = self._builder
        if isinstance(source.relation, Query):
            name = builder.step_name(scope, source.alias or "from")
            return self._query(source.relation, name, named, limit).named(source.alias)
        known = named.get(source.relation.lower())
        if known is not None:
            known.read = True
            relation = known.relation
            if relation is None or limit is not None:
                name = builder.step_name(builder.name, known.name)
                relation = self._query(known.query, name, known.outer, limit)
                known.relation = relation if limit is None else None
            return relation.named(source.alias or known.name)
        if self._sources.is_table(source.relation):
            return None
        relation = self._sources.relation(source.relation)
        if relation is None:
            builder.refuse_as(ProblemCode.UNKNOWN_STREAM, source.place, self._sources.unknown(source.relation))
            raise Refused
        return relation.named(source.alias or source.relation)


def _named_like(text: str, branch: Selection | Query, names: Sequence[str]) -> Selection | Query:
    """Name the expressions without a name of a branch of a union, as the first branch has named its columns."""
    if isinstance(branch, Query):
        first, *others = branch.selections
        return replace(branch, selections=(_named_like(text, first, names), *others))
    read_ = [None if item.name or item.window else read_expression(text, item.expression) for item in branch.items]
    references = [one.reference for one in read_ if one is not None and one.reference is not None]
    taken = {item.name.lower() for item in branch.items if item.name}
    taken |= {reference.parts[-1].lower() for reference in references}
    items = []
    for place, (item, expression) in enumerate(zip(branch.items, read_, strict=True)):
        named = expression is None or expression.reference or expression.is_star or expression.generates
        name = None if named else unique(names[place] if place < len(names) else "column", taken)
        items.append(replace(item, name=name) if name else item)
    return replace(branch, items=tuple(items))


def _common(types: Sequence[DataType], name: str, place: Span) -> DataType:
    """Return the type that a column has in all branches of a union: of different numbers the one that holds all."""
    other = next((type_ for type_ in types if type_ != types[0]), None)
    if other is None:
        return types[0]
    if all(type_.kind in NUMERIC for type_ in types):
        try:
            return reduce(common_number, types)
        except Refusal as refusal:
            raise SqlIssue(place, f"column `{name}` is {types[0]} and {other}: {refusal}") from None
    raise SqlIssue(place, f"column `{name}` is {types[0]} in one query of `union all` and {other} in another; cast one")


def _output(text: str, item: Item, scope: Scope) -> list[Output]:
    expression = read_expression(text, item.expression)
    node = expression.node
    if expression.is_star:
        return _starred(node, item, scope)
    if expression.generates:
        names, _ = output_names(node)
        written = write(expression, scope)
        names = (item.name,) if item.name else names
        shown = f"{written} as {item.name}" if item.name else written
        return [Output(name=names[0] if names else "col", text=shown, span=item.place, generates=True)]
    reference = expression.reference
    found: Found | None = None if reference is None else scope.find(reference)
    written = write(expression, scope) if found is None else found.text
    names = (item.name,) if item.name else output_names(node)[0]
    if len(names) != 1:
        raise SqlIssue(item.place, "this column needs a name: ... as name")
    return [Output(name=names[0], text=written, span=item.place, found=found)]


def _starred(node: exp.Expr, item: Item, scope: Scope) -> list[Output]:
    star = node.this if isinstance(node, exp.Column) else node
    parts = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
    options = {name: value for name, value in star.args.items() if value}
    left_out = {column.name.lower() for column in options.pop("except_", [])}
    if len(parts) > 1 or options or item.name:
        raise SqlIssue(item.place, "write `*`, `alias.*` or `* except (column)`; otherwise name each column")
    found = scope.starred(parts[0] if parts else None, item.expression)
    unknown = left_out - {one.name.lower() for one in found}
    if unknown:
        raise SqlIssue(item.place, f"there is no column `{min(unknown)}` to be left out", unknown=True)
    return [
        Output(name=one.name, text=one.text, span=item.place, found=one)
        for one in found
        if one.name.lower() not in left_out
    ]


def _how_to_select(stored: str, scope: Scope) -> str:
    """Return what to write so that the select list has a column of the key."""
    relations = scope.relations
    for relation in relations:
        for column in relation.columns:
            if column.stored.lower() == stored.lower() and column.lost is None:
                name = f"{relation.alias}.{column.name}" if relation.alias and len(relations) > 1 else column.name
                return f"add `{name}` to the select list"
    return (
        f"add `{stored}` to the select list; if no source has it, this query computes it: give what computes it a name "
        "in a query in parentheses, and use and select that name here"
    )
