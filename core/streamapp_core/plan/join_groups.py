"""Join groups: the streams that reach each join (docs/planner.md).

The walk follows messages and, through `sendToTable` to every `joinTable` of the same table, virtual edges.
`partitionBy` begins a new stream; a broadcast stream begins nothing. A table's side inputs belong to the groups of its
`joinTable`s only, not to joins after them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.graph.broadcast_names import meets_everywhere
from streamapp_core.graph.components import components
from streamapp_core.graph.graph import Graph
from streamapp_core.graph.walks import StreamSets
from streamapp_core.spec.operators import OperatorKind


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
    streams = [name for name, stream in graph.spec.streams.items() if name not in graph.opaque and not stream.broadcast]
    nodes = {name: node for node, name in enumerate((*streams, *graph.operators))}
    members: list[str | None] = [*streams, *([None] * len(graph.operators))]
    for operator in graph.of_kinds(OperatorKind.PARTITION_BY):
        members[nodes[operator.name]] = operator.name
    tables = {name: node for node, name in enumerate(graph.fillers, len(nodes))}
    sides = {name: node for node, name in enumerate(graph.spec.tables, len(nodes) + len(tables))}
    predecessors = [
        *([] for _ in streams),
        *(_known(operator.inputs, nodes) for operator in graph.operators.values()),
        *(_known((operator.name for operator in fillers), nodes) for fillers in graph.fillers.values()),
        *(_known(table.side_inputs, nodes) for table in graph.spec.tables.values()),
    ]
    for operator in graph.regrouped:
        predecessors[nodes[operator.name]] = []
    for name, joiners in graph.joiners.items():
        for node in _known((operator.name for operator in joiners), nodes) if name in tables else ():
            predecessors[node].append(tables[name])
    groups: dict[str, int] = {}
    for operator in graph.meeting:
        if operator.kind.joins or operator.spec.group_columns:
            groups[operator.name] = len(predecessors)
            table = operator.spec.join_table
            beside = [sides[table.table]] if table is not None and table.table in sides else []
            predecessors.append([nodes[operator.name], *beside])
    members += [None] * (len(predecessors) - len(members))
    return JoinWalk(
        predecessors=predecessors,
        order=components(predecessors),
        members=members,
        nodes=nodes,
        groups=groups,
        tied={name: node for name, node in groups.items() if not meets_everywhere(graph.operators[name], broadcast)},
    )


def _known(names: Iterable[str], nodes: Mapping[str, int]) -> list[int]:
    """Find the nodes of names; what is broadcast or not known has none."""
    return [nodes[name] for name in names if name in nodes]
