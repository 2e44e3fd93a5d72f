"""Rows that every task has, next to rows that one task has: merges of both, and outer joins that preserve the former.

A row that is in every task would be emitted by every task: nobody knows that it met nobody, or that others emit it, too
(docs/planner.md).
"""

from collections.abc import Iterator, Mapping, Sequence

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.join_sides import Side, repair_sides
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.job import Grouper
from streamapp_core.spec.operators import JoinType, TableJoinType

_PRESERVES = {
    JoinType.INNER: (False, False),
    JoinType.LEFT: (True, False),
    JoinType.RIGHT: (False, True),
    JoinType.FULL: (True, True),
}
"""Whether rows of the left and of the right side are emitted without a partner."""


def check_multiplicity(
    graph: Graph, rows: RowFlow, types: Mapping[str, StreamType], broadcast: frozenset[str]
) -> Iterator[Problem]:
    """Find merges of broadcast rows with others, and outer joins that preserve a broadcast side only.

    Under the grouper `all` there are no others: all rows, and all of each table, are in every task.
    """
    if graph.spec.job.grouper is Grouper.ALL:
        return
    everywhere = [name for name, type_ in types.items() if type_.everywhere]
    for operator in graph.readers_of(everywhere):
        inputs = [types[name] for name in operator.inputs if name in types]
        if len(inputs) < len(operator.inputs):
            continue
        if any(type_.unknown for type_ in inputs):
            continue
        if operator.spec.merge is not None:
            yield from _check_merge(graph, operator, inputs, rows)
        elif operator.spec.join is not None:
            yield from _check_join(graph, operator, inputs)
        elif operator.spec.join_table is not None and operator.spec.join_table.table not in broadcast:
            yield from _check_join_table(graph, operator)


def _check_merge(graph: Graph, merge: Operator, inputs: Sequence[StreamType], rows: RowFlow) -> Iterator[Problem]:
    once = [type_ for type_ in inputs if not type_.everywhere]
    if not once:
        return
    hashed = next((type_.partitioning for type_ in once if isinstance(type_.partitioning, Hashed)), None)
    key = None if hashed is None else [min(part) for part in hashed.columns]
    for position, type_ in enumerate(inputs):
        if not type_.everywhere:
            continue
        name = merge.inputs[position]
        schema = rows.schemas.get(name)
        columns = [] if schema is None else [schema.get(part) for part in key] if key else [schema.columns[0]]
        names = tuple(column.name for column in columns if column is not None)
        known = names if columns and len(names) == len(columns) else None
        side = Side(name=name, columns=known, reader=merge, position=position)
        yield _problem(
            graph,
            [side],
            merge.input_path(position),
            f"`{merge.name}` merges `{name}`, whose rows are in every task, with rows that are in one task each: those "
            f"of `{name}` would be there once for every task",
        )


def _check_join(graph: Graph, join: Operator, inputs: Sequence[StreamType]) -> Iterator[Problem]:
    assert join.spec.join is not None
    if all(type_.everywhere for type_ in inputs):
        return
    columns = join.spec.join.columns
    for position, preserved in enumerate(_PRESERVES[join.spec.join.type]):
        if preserved and inputs[position].everywhere:
            name = join.inputs[position]
            side = Side(name=name, columns=columns[position], reader=join, position=position)
            yield _problem(graph, [side], join.path("join", "type"), _preserved(join, name, join.spec.join.type))


def _check_join_table(graph: Graph, join: Operator) -> Iterator[Problem]:
    assert join.spec.join_table is not None
    if join.spec.join_table.type is not TableJoinType.LEFT:
        return
    name = join.inputs[0]
    side = Side(name=name, columns=join.spec.join_table.columns, reader=join)
    yield _problem(graph, [side], join.path("joinTable", "type"), _preserved(join, name, TableJoinType.LEFT))


def _preserved(join: Operator, name: str, kind: str) -> str:
    return (
        f"`{join.name}` is a {kind} join that emits rows of `{name}` without a partner, and these are in every task, "
        "while each task has only some of the others: every task that has no partner would emit the row"
    )


def _problem(graph: Graph, sides: Sequence[Side], path: str, reason: str) -> Problem:
    repair = repair_sides(graph, sides)
    advice = "let each row be in one task" if repair is None else repair.text
    return Problem(path=path, code=ProblemCode.MULTIPLICITY_MISMATCH, message=f"{reason}: {advice}", repair=repair)
