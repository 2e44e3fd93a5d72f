"""The first rows of each group: `row_number() over (partition by ... order by ...)`, limited by the query around it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamapp_core.plan.sql_operators.relations import (
    Output,
    Relation,
    RelationColumn,
    Scope,
    backquoted,
)
from streamapp_core.plan.sql_operators.rows import Rows, partitioned_under, types_of, write
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.plan.sql_operators.ttl_steps import ttl_fields
from streamapp_core.plan.sql_operators.window_columns import WindowColumns, is_literal, shown_column
from streamapp_core.plan.stream_types.stream_partitioning import hashed_by
from streamapp_core.schema import INT
from streamapp_core.sql.query_tree import Item, Selection, Source, Span, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression, read_expression, read_ordering

_Outputs = Callable[[Sequence[Item], Scope], list[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The number of rows of each group that a query takes, and whether it reads their places."""

    n: int
    ranked: bool


def limits_of(
    text: str, selection: Selection, numbered: Mapping[int, Item]
) -> tuple[dict[int, Limit], tuple[Span, ...]]:
    """Find how many rows of each group are taken, of sources that number them.

    Args:
        text: the text of the query.
        selection: the query around these sources.
        numbered: the items that are the number of a row, by the place of the source.

    Returns:
        The limit of each source that has one, and the conditions behind `where` that remain.
    """
    limits: dict[int, Limit] = {}
    remaining = list(selection.where)
    for place, item in numbered.items():
        for span in tuple(remaining):
            taken = _taken(read_expression(text, span), selection.sources[place], item)
            if taken is None:
                continue
            n, exact = taken
            if exact:
                remaining.remove(span)
            read_elsewhere = any(_names(expression, item) for expression in _expressions(text, selection, remaining))
            limits[place] = Limit(n=n, ranked=n > 1 or read_elsewhere)
            break
    return limits, tuple(remaining)


def _taken(expression: SqlExpression, source: Source, item: Item) -> tuple[int, bool] | None:
    """Return how many rows a condition on their number leaves, and whether it says no more than that."""
    reference = expression.references[0] if len(expression.references) == 1 else None
    bounds = _bounds(expression.node)
    if bounds is None or reference is None or item.name is None:
        return None
    *alias, name = (part.lower() for part in reference.parts)
    known = source.alias or (source.relation if isinstance(source.relation, str) else "")
    if name != item.name.lower() or (alias and alias != [known.lower()]):
        return None
    least, most = bounds
    return (most, least <= 1) if most > 0 else None


def _bounds(node: exp.Expr) -> tuple[int, int] | None:
    """Return the least and the greatest number for which a condition on a column is true; None if it has none."""
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        column, low, high = node.this, _number(node.args["low"]), _number(node.args["high"])
    elif isinstance(node, exp.EQ | exp.LTE | exp.LT):
        column, low, high = node.this, 1, _number(node.expression)
        if isinstance(node, exp.EQ) and high is None:
            column, high = node.expression, _number(node.this)
        low = high if isinstance(node, exp.EQ) else low
    elif isinstance(node, exp.GTE | exp.GT):
        column, low, high = node.expression, 1, _number(node.this)
    else:
        return None
    if low is None or high is None or not isinstance(column, exp.Column):
        return None
    return low, high - isinstance(node, exp.LT | exp.GT)


def _number(node: exp.Expr) -> int | None:
    whole = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal()
    return int(str(node.this)) if whole else None


def _expressions(text: str, selection: Selection, where: Sequence[Span]) -> Iterator[SqlExpression]:
    spans = [item.expression for item in selection.items if item.row_number is None]
    spans += [*where, *selection.group_by, *(span for source in selection.sources for span in source.on)]
    spans += [] if selection.having is None else [selection.having]
    for item in selection.items:
        if item.window is not None:
            spans += item.window.partition
            yield read_ordering(text, item.window.order)
    for span in spans:
        yield read_expression(text, span)


def _names(expression: SqlExpression, item: Item) -> bool:
    """Return whether an expression may read the number of a row."""
    name = (item.name or "").lower()
    stars = any(node.find(exp.Star) for node in expression.nodes)
    return stars or any(name in map(str.lower, reference.parts) for reference in expression.references)


def rank_rows(
    builder: StepBuilder, selection: Selection, rows: Rows, scope: str, *, limit: Limit | None, outputs_of: _Outputs
) -> tuple[Rows, list[Output]]:
    """Add the steps that keep the first rows of each group; return these, and the select list over them.

    Raises:
        SqlIssue, Refused: they can't be planned.
    """
    numbered = [item for item in selection.items if item.window is not None]
    item = next(item for item in numbered if item.row_number is not None)
    number = item.row_number
    assert number is not None
    if len(numbered) > 1:
        raise SqlIssue(numbered[1].place, "rows are ranked once in a query; write this one in a query around it")
    if limit is None or item.name is None:
        raise SqlIssue(
            item.place,
            f"{'' if item.name else 'name it, and '}take the first rows in the query around this one: "
            "select * from (select ..., row_number() over (...) as place from ...) where place <= 10",
        )
    groups = [
        expression for span in number.partition if not is_literal(expression := read_expression(builder.text, span))
    ]
    if not groups:
        limit = replace(limit, ranked=True)  # the place alone tells results apart
    outputs = outputs_of(selection.items, rows.scope)
    taken: set[str] = set()
    for output in outputs:
        if output.name.lower() in taken or output.name.lower() == item.name.lower():
            raise SqlIssue(output.span, f"two columns are named `{output.name}`; rename one with `as`")
        taken.add(output.name.lower())
    if limit.ranked:
        taken.add(item.name.lower())
    columns = WindowColumns(rows.scope, list(outputs), taken)
    by = [columns.expression(group) for group in groups] or [columns.constant(item.place)]
    order = read_ordering(builder.text, number.order)
    order_by = write(order, rows.scope, lambda found: backquoted(columns.reference(found, order.span)))
    by = list(dict.fromkeys(by))
    kept = {old: new.lower() for old, new in columns.kept(rows).items()}
    name = builder.step_name(scope, "columns")
    places = {output.item: output.span for output in columns.outputs}
    builder.add(name, rows.operator, "map", ", ".join(places), places)
    partitioned = partitioned_under(rows.partitioned, {old: (new,) for old, new in kept.items()})
    if partitioned is None or not partitioned.within(by):
        source, name = name, builder.step_name(scope, f"by-{by[0]}")
        builder.add(name, source, "partitionBy", {"key": by[0]}, groups[0].span if groups else item.place)
    fields: dict[str, object] = {"by": by, "orderBy": order_by, "n": limit.n}
    fields |= ({"rank": item.name} if limit.ranked else {}) | ttl_fields(selection, rows)
    source, name = name, builder.step_name(scope, "first")
    builder.add(name, source, "topN", fields, item.place)
    made = types_of(builder, name)
    relation = Relation(
        operator=name,
        alias=None,
        columns=tuple(
            RelationColumn(
                name=output.name,
                stored=output.name,
                type=made[output.name.lower()],
                origin=None if output.found is None else output.found.origin,
            )
            for output in columns.outputs
        )
        + ((RelationColumn(name=item.name, stored=item.name, type=INT),) if limit.ranked else ()),
    )
    ranked = replace(
        rows,
        operator=name,
        scope=Scope([relation]),
        types=made,
        partitioned=hashed_by(by[:1]),
        key=(*(by if groups else ()), item.name) if limit.ranked else tuple(by),
    )
    shown = [output.name for output in outputs]
    place = next(at for at, one in enumerate(selection.items) if one is item)
    if limit.ranked:
        before = outputs_of(selection.items[:place], rows.scope) if place else []
        shown.insert(len(before), item.name)
    return ranked, [shown_column(relation, name_, item.place) for name_ in shown]
