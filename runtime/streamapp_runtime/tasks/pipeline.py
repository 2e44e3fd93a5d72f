"""The operators of one task, wired: rows and watermarks flow through them in the order of the graph."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_runtime.operators.protocol import Port, Step


@dataclass(slots=True, kw_only=True)
class Node:
    """One operator in place: `inputs` are streams or nodes it reads from, `streams` those whose messages reach it.

    `ports` take the rows of each input.
    """

    name: str
    operator: Step
    inputs: tuple[str, ...]
    ports: tuple[Port, ...]
    streams: frozenset[str]
    watermark: int | None = field(default=None, init=False)


class Pipeline:
    """The nodes of one task, in topological order."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self._consumers: dict[str, list[tuple[Node, Port]]] = {}
        for node in nodes:
            for name, port in zip(node.inputs, node.ports, strict=True):
                self._consumers.setdefault(name, []).append((node, port))

    def push(self, source: str, rows: pa.Table) -> None:
        """Give rows of a stream (or of a node) to all that read from it, and their results to all after them."""
        waiting = [(source, rows)]
        while waiting:
            name, batch = waiting.pop()
            for node, port in self._consumers.get(name, ()):
                result = port(batch)
                if result is not None and len(result):
                    waiting.append((node.name, result))

    def advance(self, watermark_of: Callable[[Iterable[str]], int | None]) -> bool:
        """Tell every operator its watermark, the minimum over the streams that reach it; True if one rose.

        Results come before the watermark that released them: what a node gives out has passed all nodes after it
        when their own watermark is looked at (design 7).
        """
        risen = False
        for node in self.nodes:
            watermark = watermark_of(node.streams)
            if watermark is None or (node.watermark is not None and watermark <= node.watermark):
                continue
            risen = True
            node.watermark = watermark
            result = node.operator.advance(watermark)
            if result is not None and len(result):
                self.push(node.name, result)
        return risen

    def flush(self) -> None:
        """Write what operators keep in memory to their stores."""
        for node in self.nodes:
            node.operator.flush()

    def counters(self) -> dict[str, Mapping[str, int]]:
        """Tell each operator's counts of rows not used, where there are any."""
        counted = {node.name: node.operator.counters() for node in self.nodes}
        return {name: counts for name, counts in counted.items() if any(counts.values())}
