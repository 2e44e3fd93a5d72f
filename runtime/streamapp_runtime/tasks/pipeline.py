"""The operators of one task, wired: rows and watermarks flow through them in the order of the graph."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.operator import InputPort, TaskOperator
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.state.checkpoint import OperatorWatermark


@dataclass(slots=True, kw_only=True)
class Node:
    """One operator in place: `inputs` are streams or nodes it reads from, `streams` those whose messages reach it.

    `ports` take the rows of each input; those of an operator that must `divide` them one part after the other. What
    the operator emits may be older than its watermark by as much as `max_output_delay` (milliseconds), so the
    watermarks of those after it are lower by that. All results of `watermark` have been emitted; the operator has
    `reached` a later one while it `has_pending_results`.
    """

    name: str
    operator: TaskOperator
    inputs: tuple[str, ...]
    ports: tuple[InputPort, ...]
    streams: frozenset[str]
    max_output_delay: int = 0
    divide: Callable[[pa.Table], Iterator[pa.Table]] | None = None
    watermark: int | None = field(default=None, init=False)
    reached: int = field(default=BEGINNING, init=False)


class Pipeline:
    """The nodes of one task, in topological order."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self._consumers: dict[str, list[tuple[Node, InputPort]]] = {}
        for node in nodes:
            for name, port in zip(node.inputs, node.ports, strict=True):
                self._consumers.setdefault(name, []).append((node, port))
        self._behind: dict[str, int] = {}
        """By how much the rows that come to a node may be older than the watermark of its streams."""
        emitted: dict[str, int] = {}
        for node in nodes:
            self._behind[node.name] = max(emitted.get(name, 0) for name in node.inputs)
            emitted[node.name] = self._behind[node.name] + node.max_output_delay

    def push(self, source: str, rows: pa.Table) -> None:
        """Pass rows of a stream (or of a node) to all nodes that read from it, and their results to all after them."""
        waiting = [(source, rows)]
        while waiting:
            name, batch = waiting.pop()
            for node, port in self._consumers.get(name, ()):
                if node.divide is not None:
                    for part in node.divide(batch):
                        self._push_result(node, port(part))
                    continue
                result = port(batch)
                if result is not None and len(result):
                    waiting.append((node.name, result))

    def _push_result(self, node: Node, result: pa.Table | None) -> None:
        if result is not None and len(result):
            self.push(node.name, result)

    def advance(self, watermark_of: Callable[[Iterable[str]], int | None]) -> bool:
        """Advance every operator to its watermark, the minimum over the streams that reach it; return whether one rose.

        It is lower by what operators before it may still emit for older times.

        Results come before the watermark that released them: what a node emits has passed all nodes after it when
        their own watermark is advanced (docs/control-messages.md). Nodes after one that `has_pending_results` wait.
        """
        risen = False
        for node in self.nodes:
            watermark = _lowered(watermark_of(node.streams), self._behind[node.name])
            if watermark is not None:
                node.reached = max(node.reached, watermark)  # after a restart its streams may be behind at first
            elif node.reached == BEGINNING:
                continue
            if node.watermark is not None and node.reached <= node.watermark:
                continue
            risen = True
            self._push_result(node, node.operator.advance_watermark(node.reached))
            if node.operator.has_pending_results:
                return True
            node.watermark = node.reached
        return risen

    @property
    def watermarks(self) -> dict[str, OperatorWatermark]:
        """The watermarks of the operators that have one, for the checkpoint."""
        return {
            node.name: OperatorWatermark(reached=node.reached, emitted=node.watermark)
            for node in self.nodes
            if node.watermark is not None or node.reached > BEGINNING
        }

    def resume(self, watermarks: Mapping[str, OperatorWatermark]) -> None:
        """Continue at the watermarks of a checkpoint, before any rows come; those of other operators are ignored."""
        for node in self.nodes:
            if node.name in watermarks:
                node.reached, node.watermark = watermarks[node.name].reached, watermarks[node.name].emitted
                node.operator.resume(node.reached)

    @property
    def has_pending_results(self) -> bool:
        """Whether an operator has more to emit for its last watermark."""
        return any(node.operator.has_pending_results for node in self.nodes)

    def flush(self) -> None:
        """Write what operators keep in memory to their stores."""
        for node in self.nodes:
            node.operator.flush()

    def counters(self) -> dict[str, Mapping[str, int]]:
        """Return each operator's counts of rows not used, where there are any."""
        counted = {node.name: node.operator.counters() for node in self.nodes}
        return {name: counts for name, counts in counted.items() if any(counts.values())}


def _lowered(watermark: int | None, by: int) -> int | None:
    return watermark if watermark is None or watermark == END_OF_TIME else max(watermark - by, BEGINNING)
