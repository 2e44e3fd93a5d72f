"""The figure of a plan: streams, operators and tables as nodes, and rows that go from one to another as edges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole


class NodeKind(StrEnum):
    """The kinds of nodes: an operator with an intermediate stream is one of its own."""

    STREAM = "stream"
    OPERATOR = "operator"
    INTERMEDIATE = "intermediate"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A stream, an operator or a table: `label` says what it has or does.

    `id` is one word, and another one for each node. From left to right it stands in `column`, which begin with 0.
    """

    id: str
    kind: NodeKind
    name: str
    label: str = ""
    column: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Rows that go from one node to another, by their ids: `rows` names the stream or operator that they are of.

    Those of a table are of none. `by_table` if either is a table.
    """

    source: str
    target: str
    rows: str | None
    by_table: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigure:
    """The nodes and edges of a plan. A node stands in a column behind those of all nodes before it, but for loops."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def draw_plan(plan: Plan) -> PlanFigure:
    """Return the figure of a plan."""
    nodes, edges = list(_nodes(plan)), _edges(plan)
    columns = _columns(nodes, edges)
    return PlanFigure(nodes=tuple(replace(node, column=columns[node.id]) for node in nodes), edges=tuple(edges))


def _nodes(plan: Plan) -> list[Node]:
    streams = [stream for stream in plan.streams.values() if stream.role is not StreamRole.INTERMEDIATE]
    found = [
        Node(id=_id("s", stream.name), kind=NodeKind.STREAM, name=stream.name, label=_partitions(stream))
        for stream in streams
    ]
    for operator in plan.operators.values():
        kind, label = NodeKind.OPERATOR, str(operator.kind)
        if operator.kind.makes_intermediate_stream:
            stream = plan.streams[operator.name]
            label += f"{f' to {stream.address}' if stream.shared else ''}, {_partitions(stream)}"
            kind = NodeKind.INTERMEDIATE
        found.append(Node(id=_id("o", operator.name), kind=kind, name=operator.name, label=label))
    return found + [Node(id=_id("t", name), kind=NodeKind.TABLE, name=name) for name in plan.tables]


def _edges(plan: Plan) -> list[Edge]:
    edges: list[Edge] = []
    for operator in plan.operators.values():
        node, spec, source = _id("o", operator.name), operator.spec, operator.inputs[0]
        edges += [Edge(source=_node(plan, name), target=node, rows=name) for name in operator.inputs]
        if spec.send_to is not None:
            edges.append(Edge(source=node, target=_id("s", spec.send_to), rows=source))
        if spec.send_to_table is not None:
            edges.append(Edge(source=node, target=_id("t", spec.send_to_table), rows=source, by_table=True))
        if spec.join_table is not None:
            edges.append(Edge(source=_id("t", spec.join_table.table), target=node, rows=None, by_table=True))
    for name, table in plan.tables.items():
        edges += [
            Edge(source=_id("s", stream), target=_id("t", name), rows=stream, by_table=True)
            for stream in table.spec.side_inputs
        ]
    return edges


def _columns(nodes: Sequence[Node], edges: Sequence[Edge]) -> Mapping[str, int]:
    """Return the column of each node, by its id; what fills a table is passed over where it reads the table, too."""
    try:
        return _longest_paths(nodes, edges)
    except CycleError:
        return _longest_paths(nodes, [edge for edge in edges if not (edge.by_table and edge.rows is None)])


def _longest_paths(nodes: Sequence[Node], edges: Sequence[Edge]) -> Mapping[str, int]:
    before: dict[str, set[str]] = {node.id: set() for node in nodes}
    for edge in edges:
        before[edge.target].add(edge.source)
    columns: dict[str, int] = {}
    for node in TopologicalSorter(before).static_order():
        columns[node] = max((columns[source] + 1 for source in before[node]), default=0)
    return columns


def _node(plan: Plan, name: str) -> str:
    return _id("o" if name in plan.operators else "s", name)


def _id(kind: str, name: str) -> str:
    """Return the id of a node: dashes could be taken for an arrow, and `end` for a keyword."""
    return f"{kind}_{name.replace('-', '_').replace('.', '__')}"


def _partitions(stream: PlannedStream) -> str:
    return f"{stream.partitions} partition{'' if stream.partitions == 1 else 's'}"
