"""Join groups: the streams that reach each join (docs/planner.md).

The walk follows messages and, through `sendToTable` to every `joinTable` of the same table, virtual edges.
`partitionBy` begins a new stream; a broadcast stream begins nothing. A table's side inputs belong to the groups of its
`joinTable`s only, not to joins after them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.graph.broadcast_names import meets_everywhere
from streamapp_core.graph.components import components
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.graph.walks import StreamSets


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinWalk:
    """The graph that the walk follows, as numbered nodes: streams, operators, tables, and the group of each join.

    `predecessors` has what comes before each node, `members` the stream that begins there. `order` has every node
    after its predecessors; nodes that reach each other (through tables) stand together. `nodes` finds the node of a
    stream or an operator, `groups` that of a join's group; `tied` are those groups whose members must be split alike.
    """

    predecessors: Sequence[Sequence[int]]
    order: Sequence[Sequence[int]]
    members: Sequence[str | None]
    nodes: Mapping[str, int]
    groups: Mapping[str, int]
    tied: Mapping[str, int]


class Reach:
    """The streams that reach each node of a walk."""

    def __init__(self, walk: JoinWalk) -> None:
        self._walk = walk
        self._sets = StreamSets(name for name in walk.members if name is not None)
        self._reaching = [0 if name is None else self._sets.only(name) for name in walk.members]
        for together in walk.order:
            streams = 0
            for node in together:
                streams |= self._reaching[node]
                for before in walk.predecessors[node]:
                    streams |= self._reaching[before]
            for node in together:
                self._reaching[node] = streams

    def of(self, name: str) -> frozenset[str]:
        """Return the streams that reach an operator; of a stream, itself; none if it is not known or broadcast."""
        return self._members(self._walk.nodes.get(name))

    def group(self, join: str) -> frozenset[str]:
        """Return the members of the group of a join."""
        return self._members(self._walk.groups[join])

    def _members(self, node: int | None) -> frozenset[str]:
        return self._sets.members(0 if node is None else self._reaching[node])


def walk_joins(graph: Graph, broadcast: frozenset[str]) -> JoinWalk:
    """Return the walk of a graph; `broadcast` is what is in every task, where nothing has to be split alike."""
    layout = _Layout()
    for name, stream in graph.spec.streams.items():
        if name not in graph.opaque and not stream.broadcast:
            layout.nodes[name] = layout.add(member=name)
    for name, operator in graph.operators.items():
        layout.nodes[name] = layout.add(member=name if operator.spec.partition_by is not None else None)
    tables = {name: layout.add(layout.find(o.name for o in fillers)) for name, fillers in graph.fillers.items()}
    sides = {name: layout.add(layout.find(table.side_inputs)) for name, table in graph.spec.tables.items()}
    groups: dict[str, int] = {}
    for name, operator in graph.operators.items():
        node = layout.nodes[name]
        layout.predecessors[node] = _before(operator, layout, tables)
        if operator.spec.join is not None:
            groups[name] = layout.add([node])
        elif operator.spec.join_table is not None:
            table = operator.spec.join_table.table
            groups[name] = layout.add([node, sides[table]] if table in sides else [node])
        elif operator.spec.group_columns:
            groups[name] = layout.add([node])
    return JoinWalk(
        predecessors=layout.predecessors,
        order=components(layout.predecessors),
        members=layout.members,
        nodes=layout.nodes,
        groups=groups,
        tied={name: node for name, node in groups.items() if not meets_everywhere(graph.operators[name], broadcast)},
    )


class _Layout:
    """The nodes of a walk while they are added."""

    def __init__(self) -> None:
        self.predecessors: list[Sequence[int]] = []
        self.members: list[str | None] = []
        self.nodes: dict[str, int] = {}

    def add(self, before: Sequence[int] = (), *, member: str | None = None) -> int:
        self.predecessors.append(before)
        self.members.append(member)
        return len(self.members) - 1

    def find(self, names: Iterable[str]) -> list[int]:
        """Find the nodes of names; what is broadcast or not known has none."""
        return [self.nodes[name] for name in names if name in self.nodes]


def _before(operator: Operator, layout: _Layout, tables: Mapping[str, int]) -> list[int]:
    if operator.kind.makes_intermediate_stream:
        return []
    before = layout.find(operator.inputs)
    if operator.spec.join_table is not None and operator.spec.join_table.table in tables:
        before.append(tables[operator.spec.join_table.table])
    return before
