"""The operators of one task, wired: rows and watermarks flow through them in the order of the graph."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.operator import InputPort, TaskOperator
from streamapp_runtime.operators.processing_time import ProcessingTime
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.state.checkpoint import OperatorWatermark


@dataclass(slots=True, kw_only=True)
class Node:
    """One operator in place: `inputs` are streams or nodes it reads from, `streams` those whose messages reach it.

    `ports` take the rows of each input; those of an operator that must `divide` them one part after the other. What
    the operator emits may be older than its watermark by as much as `max_output_delay` (milliseconds), so the
    watermarks of those after it are lower by that. All results of `watermark` have been emitted; the operator has
    `reached` a later one while it `has_pending_results`. A node with a `clock` has the clock's watermark until its
    streams have ended, and those after it follow. `emit_early` returns what is due before its watermark.
    """

    name: str
    operator: TaskOperator
    inputs: tuple[str, ...]
    ports: tuple[InputPort, ...]
    streams: frozenset[str]
    max_output_delay: int = 0
    divide: Callable[[pa.Table], Iterator[pa.Table]] | None = None
    clock: ProcessingTime | None = None
    emit_early: Callable[[], pa.Table | None] | None = None
    watermark: int | None = field(default=None, init=False)
    reached: int = field(default=BEGINNING, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedBy:
    """The streams and the nodes with a clock that rows have their time from."""

    streams: frozenset[str] = frozenset()
    clocked: frozenset[str] = frozenset()


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
        self._timed_by: dict[str, _TimedBy] = {}
        """What the watermarks of the rows that come to a node follow."""
        emitted: dict[str, int] = {}
        after: dict[str, _TimedBy] = {}
        for node in nodes:
            # A partitionBy has the name of its stream, whose rows and watermarks come from other tasks, too.
            before = [name for name in node.inputs if name in emitted and name not in node.streams]
            self._behind[node.name] = max((emitted[name] for name in before), default=0)
            emitted[node.name] = 0 if node.clock else self._behind[node.name] + node.max_output_delay
            parts = [_TimedBy(streams=frozenset(node.inputs).difference(before)), *(after[name] for name in before)]
            self._timed_by[node.name] = timed_by = _TimedBy(
                streams=frozenset[str]().union(*(part.streams for part in parts)),
                clocked=frozenset[str]().union(*(part.clocked for part in parts)),
            )
            after[node.name] = _TimedBy(clocked=frozenset([node.name])) if node.clock else timed_by

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
            early = None if node.emit_early is None else node.emit_early()
            risen |= early is not None
            self._push_result(node, early)
            watermark = self._watermark(node, watermark_of)
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

    def follows_clock(self, node: Node) -> bool:
        """Return whether the watermark of a node rises with a clock, whether rows come or not."""
        return node.clock is not None or bool(self._timed_by[node.name].clocked)

    def _watermark(self, node: Node, watermark_of: Callable[[Iterable[str]], int | None]) -> int | None:
        if node.clock is not None:
            return END_OF_TIME if watermark_of(node.streams) == END_OF_TIME else node.clock.watermark
        timed_by = self._timed_by[node.name]
        if not timed_by.clocked:
            return _lowered(watermark_of(node.streams), self._behind[node.name])
        watermarks = [node.watermark for node in self.nodes if node.name in timed_by.clocked]
        if timed_by.streams:
            watermarks.append(watermark_of(timed_by.streams))
        known = [watermark for watermark in watermarks if watermark is not None]
        return _lowered(min(known), self._behind[node.name]) if len(known) == len(watermarks) else None

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
                if node.clock is not None:
                    node.clock.resume(node.reached)

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
