"""Minimum-cost maximum flow, for networks of a few thousand nodes with large capacities.

Successive shortest paths, many at a time: each round finds the shortest distances (Bellman-Ford, one numpy pass over
all arcs at a time), keeps the arcs that lie on shortest paths, and pushes a blocking flow through them.
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_UNREACHED = np.int64(2**62)


class Network:
    """Arcs between nodes that are numbered from 0, each with a capacity and a cost per unit of flow.

    Costs may be negative; cycles of negative cost are not allowed.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._tails: list[int] = []
        self._heads: list[int] = []
        self._capacities: list[int] = []
        self._costs: list[int] = []

    def add(self, tail: int, head: int, *, capacity: int, cost: int = 0) -> int:
        """Add an arc; return its number, which is its position in the result of `cheapest_flow`."""
        self._tails.append(tail)
        self._heads.append(head)
        self._capacities.append(capacity)
        self._costs.append(cost)
        return len(self._tails) - 1

    def cheapest_flow(self, source: int, sink: int) -> list[int]:
        """Return the flow on each arc of a largest flow from source to sink, the cheapest of the largest ones.

        New flow goes along shortest paths only, so no cycle of negative cost can appear in the residual network: the
        flow is the cheapest of its size after every round. Lengths are costs first and numbers of arcs second, so
        the arcs on shortest paths form no cycle. The result depends on nothing but the order of nodes and arcs.
        """
        arcs = len(self._tails)
        tails = np.array(self._tails + self._heads, dtype=np.int64)
        heads = np.array(self._heads + self._tails, dtype=np.int64)
        costs = np.array(self._costs, dtype=np.int64)
        lengths = np.concatenate([costs, -costs]) * self._nodes + 1
        residual = np.array(self._capacities + [0] * arcs, dtype=np.int64)
        while True:
            usable = np.flatnonzero(residual)
            distances = _distances(self._nodes, source, tails[usable], heads[usable], lengths[usable])
            if distances[sink] == _UNREACHED:
                return [int(flow) for flow in residual[arcs:]]
            shortest = usable[distances[tails[usable]] + lengths[usable] == distances[heads[usable]]]
            pushed = _blocking_flow(
                source, sink, tails[shortest].tolist(), heads[shortest].tolist(), residual[shortest].tolist()
            )
            residual[shortest] -= pushed
            residual[(shortest + arcs) % (2 * arcs)] += pushed


def _distances(nodes: int, source: int, tails: Integers, heads: Integers, lengths: Integers) -> Integers:
    """Return the length of the shortest path from the source to each node (Bellman-Ford)."""
    distances = np.full(nodes, _UNREACHED)
    distances[source] = 0
    changed = np.zeros(nodes, dtype=np.bool_)
    changed[source] = True
    while changed.any():
        arcs = np.flatnonzero(changed[tails])
        before = distances.copy()
        np.minimum.at(distances, heads[arcs], before[tails[arcs]] + lengths[arcs])
        changed = distances < before
    return distances


def _blocking_flow(source: int, sink: int, tails: list[int], heads: list[int], room: list[int]) -> Integers:
    """Push flow along the paths of a network without cycles until each path has a full arc; return the flows."""
    leaving: dict[int, list[int]] = {}
    for arc, tail in enumerate(tails):
        leaving.setdefault(tail, []).append(arc)
    flows = np.zeros(len(tails), dtype=np.int64)
    path: list[int] = []
    while True:
        node = heads[path[-1]] if path else source
        if node == sink:
            amount = min(room[arc] for arc in path)
            for arc in path:
                room[arc] -= amount
                flows[arc] += amount
            del path[next(place for place, arc in enumerate(path) if not room[arc]) :]
        elif leaving.get(node):
            arc = leaving[node][-1]
            if room[arc]:
                path.append(arc)
            else:
                leaving[node].pop()
        elif path:
            room[path.pop()] = 0
        else:
            return flows
