"""Outer joins of streams in a query: which sides keep their rows, and what such a join needs."""

from collections.abc import Collection, Mapping, Sequence

from streamapp_core.plan.sql_operators.join_conditions import equalities_of_key, equality_of, time_bounds
from streamapp_core.plan.sql_operators.relations import Relation, Scope
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.sql.query_tree import JoinKind, Selection, Source, Span, SqlIssue


def may_lack_partner(joins: Mapping[int, JoinKind], sources: int) -> set[int]:
    """Return the sources whose columns may be null after outer joins of streams, by the place of each of these."""
    lacking: set[int] = set()
    for at, kind in joins.items():
        if kind in (JoinKind.RIGHT, JoinKind.FULL):
            lacking |= set(range(min(at, sources)))
        if kind in (JoinKind.LEFT, JoinKind.FULL):
            lacking.add(at)
    return lacking


def check_outer_join(
    builder: StepBuilder,
    selection: Selection,
    scope: Scope,
    at: int,
    *,
    tables: Collection[int],
    where: Sequence[Span],
) -> None:
    """Check that an outer join of a stream can be right; every reason why it can't is kept.

    Args:
        builder: keeps the issues.
        selection: what has the join.
        scope: its sources.
        at: the place of the source that is joined.
        tables: the places of the sources that are tables.
        where: the conditions behind `where`.

    Raises:
        Refused: it can't be right.
    """
    source = selection.sources[at]
    before = [other for other in range(at) if other not in tables]
    changing = [place for place in (*before, at) if scope.relations[place].key is not None]
    if changing:
        reasons = _of_changes(builder, source, scope, at, [place for place in (*before, at) if place not in changing])
    else:
        reasons = _of_events(builder, source, scope, at, earlier=before, where=where)
    for reason in reasons:
        builder.refuse(SqlIssue(source.place, reason))
    if reasons:
        raise Refused


def changing_key(relation: Relation) -> tuple[str, ...]:
    """Return the columns of the key of rows that change, as a query names them; none if it does not name all."""
    names = {column.stored.lower(): column.name for column in relation.columns}
    key = [names.get(column.lower()) for column in relation.key or ()]
    return tuple(name for name in key if name is not None) if None not in key else ()


def _of_changes(builder: StepBuilder, source: Source, scope: Scope, at: int, events: Sequence[int]) -> Sequence[str]:
    """Return why an outer join of rows that change can't be right: of the row of each left one there may be one."""
    reasons = []
    if source.join is not JoinKind.LEFT:
        swapped = ": write it as a `left join`, with the sides the other way round" * (source.join is JoinKind.RIGHT)
        reasons.append(f"of rows that change there are inner and left joins{swapped}")
    if events:
        names = " and ".join(f"`{scope.relations[place].alias or 'a query'}`" for place in events)
        reasons.append(
            f"the rows of {names} are events, and the others change: join before grouping, group by a window, or fill "
            "a table by the rows that change, and write `left join` of it"
        )
        return reasons
    key = changing_key(scope.relations[at])
    equal = [equality for span in source.on if (equality := equality_of(builder, span, scope, range(at), at))]
    made = [(equality.left.span, equality) for equality in equal]
    if not key or not equalities_of_key(made, scope, [(at, column.lower()) for column in key]):
        listed = " and ".join(f"... = {scope.relations[at].alias or 'it'}.{column}" for column in key)
        reasons.append(
            "a left join of rows that change is by the whole key of the right ones, so that each left one has one "
            f"partner at most: {f'on {listed}' if key else 'it is not in the select list of this query; add it'}"
        )
    return reasons


def _of_events(
    builder: StepBuilder, source: Source, scope: Scope, at: int, *, earlier: Sequence[int], where: Sequence[Span]
) -> Sequence[str]:
    """Return why an outer join of events can't be right; `earlier` are the streams before it."""
    reasons = []
    if earlier != [0] or (at > 1 and source.join is not JoinKind.LEFT):
        reasons.append(
            f"a {source.join} join of streams is the first join of its query, since joined rows have no column that is "
            "their event time: write the joins after it, or this one as operators"
        )
    if not any(equality_of(builder, span, scope, range(at), at) for span in source.on):
        reasons.append("no equality behind its `on` joins it with what stands before it, as in `on a.key = b.key`")
    if not reasons and time_bounds(builder, source.on, scope, 0, at) is None:
        reasons.append(_unbounded(builder, source, where, scope, at))
    return reasons


def _unbounded(builder: StepBuilder, source: Source, where: Sequence[Span], scope: Scope, at: int) -> str:
    """Return that nothing bounds the time between partners, and what to write."""
    first, second = scope.relations[0], scope.relations[at]
    times = [_time_column(relation) for relation in (first, second)]
    without = [
        f"`{relation.alias or relation.operator}`"
        for relation, time in zip((first, second), times, strict=True)
        if time is None
    ]
    message = (
        f"a row of a stream may find a partner until its time is over, so a {source.join} join needs both bounds: "
    )
    if without:
        return (
            f"{message}the query knows of no column of {' and '.join(without)} that is the event time, as of rows that "
            "are neither joined nor grouped"
        )
    bound = f"{times[1]} between {times[0]} - interval '1 hour' and {times[0]} + interval '1 hour'"
    if time_bounds(builder, [*source.on, *where], scope, 0, at) is not None:
        return f"{message}write those of `where` behind `on`, as what `where` lets pass has found its partner already"
    return f"{message}add `and {bound}` behind `on`, with the lengths of your case"


def _time_column(relation: Relation) -> str | None:
    """Return a column that is the event time of rows, as the query names it."""
    timing = relation.timing
    if timing is None:
        return None
    for path in timing.columns:
        for column in relation.columns:
            origin = column.origin or ()
            if origin and path[: len(origin)] == origin and timing.time_of(path, relation.nulls):
                return ".".join(filter(None, [relation.alias, column.name, *path[len(origin) :]]))
    return None
