"""Walks along the messages: the streams that reach each operator (docs/control-messages.md).

A walk follows messages: it does not go through tables, does not begin at side inputs, and ends at partitionBy and
broadcast, whose intermediate stream begins a new one.
"""

from collections.abc import Iterable, Mapping

from streamapp_core.graph.graph import Graph
from streamapp_core.spec.operators import OperatorKind


class StreamSets:
    """Sets of streams as whole numbers, one bit per stream, so that unions stay cheap in graphs of any shape."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._bits = {name: 1 << position for position, name in enumerate(self._names)}
        self._members: dict[int, frozenset[str]] = {0: frozenset()}

    def only(self, name: str) -> int:
        """Return the set of one stream."""
        return self._bits[name]

    def members(self, streams: int) -> frozenset[str]:
        """Return the names in a set; equal sets share one result."""
        if streams not in self._members:
            rest, names = streams, []
            while rest:
                lowest = rest & -rest
                names.append(self._names[lowest.bit_length() - 1])
                rest ^= lowest
            self._members[streams] = frozenset(names)
        return self._members[streams]


def feeding_streams(graph: Graph) -> Mapping[str, frozenset[str]]:
    """Return, per intermediate stream, the input and intermediate streams whose walk reaches it.

    The tasks that own a partition of one of these are its expected producers.
    """
    sets, reaching = _walk(graph)
    return {operator.name: sets.members(reaching[operator.name]) for operator in graph.regrouped}


def reaching_streams(graph: Graph) -> Mapping[str, frozenset[str]]:
    """Return, per operator, the streams whose walk reaches it: its watermark is the minimum over these."""
    sets, reaching = _walk(graph)
    return {name: sets.members(streams) for name, streams in reaching.items()}


def streams_that_fill_tables(graph: Graph) -> frozenset[str]:
    """Return the streams whose rows reach a `sendToTable`, through intermediate streams, too."""
    fillers = [operator.name for operator in graph.of_kinds(OperatorKind.SEND_TO_TABLE)]
    if not fillers:
        return frozenset()
    reaching, found = reaching_streams(graph), set[str]()
    waiting = [stream for filler in fillers for stream in reaching[filler]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += reaching.get(name, ())
    return frozenset(found & graph.spec.streams.keys())


def _walk(graph: Graph) -> tuple[StreamSets, Mapping[str, int]]:
    begins = [*graph.spec.streams, *(operator.name for operator in graph.regrouped)]
    sets = StreamSets(begins)
    flows = {name: sets.only(name) for name in begins}
    reaching: dict[str, int] = {}
    for operator in graph.operators.values():
        streams = 0
        for name in operator.inputs:
            streams |= flows.get(name, 0)
        flows.setdefault(operator.name, streams)
        reaching[operator.name] = streams
    return sets, reaching
