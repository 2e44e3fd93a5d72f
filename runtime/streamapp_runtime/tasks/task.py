"""A task: its pipeline, its stores, and the bookkeeping of what it has read."""

from collections.abc import Collection, Iterable, Mapping

from streamapp_core.control.states import ControlStates
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.inputs import Decoded
from streamapp_runtime.rows.event_time import latest
from streamapp_runtime.state.protocol import Environment
from streamapp_runtime.tasks.pipeline import Pipeline


class Task:
    """Runs the operators over the partitions it owns, in the order the messages lie in each of them."""

    def __init__(
        self,
        name: str,
        *,
        ssps: Collection[Ssp],
        pipeline: Pipeline,
        states: ControlStates,
        environment: Environment,
        sources: Collection[str],
        produces: Collection[str],
    ) -> None:
        """Take the partitions of its inputs, side inputs aside.

        `sources` are those of their streams that come from outside, `produces` the intermediate ones it writes to.
        """
        self.name = name
        self.pipeline = pipeline
        self._states = states
        self._environment = environment
        self._sources = sources
        self._streams = frozenset(ssp.stream for ssp in ssps)
        self._producing = {node.name: node for node in pipeline.nodes if node.name in produces}
        self._announced: dict[str, int] = {}

    @property
    def ended(self) -> bool:
        """Whether all inputs have ended and all that follows from them has been given out."""
        return self._states.all_ended

    def take(self, decoded: Decoded) -> None:
        """Process what was read of one partition."""
        _, stream, partition = decoded.ssp
        if decoded.rows is not None:
            self.pipeline.push(stream, decoded.rows)
            self._observe(decoded)
        for control in decoded.controls:
            self._states.apply(stream, partition, control)
        if decoded.ended:
            self._states.end(stream, partition)

    def advance(self, now: int) -> bool:
        """Let the time of day (milliseconds) and what was read move the watermarks; True if one rose."""
        self._states.advance_clock(now)
        return self.pipeline.advance(self._watermark)

    def reads(self, stream: str) -> bool:
        """Whether the task owns a partition of a stream."""
        return stream in self._streams

    def watermark(self, stream: str) -> int | None:
        """Tell the watermark of a stream in this task; None without one."""
        return self._watermark((stream,))

    def has_ended(self, stream: str) -> bool:
        """Whether everything of a stream has been read that the task will ever get."""
        return self._states.ended(stream)

    def unannounced(self, stream: str) -> int | None:
        """Tell the watermark that the consumers of an intermediate stream have not heard of yet; None if they have."""
        node = self._producing.get(stream)
        if node is None or node.watermark is None or node.watermark == self._announced.get(stream):
            return None
        return node.watermark

    def announce(self, stream: str, watermark: int) -> None:
        """Note that a watermark is on its way to the consumers of an intermediate stream."""
        self._announced[stream] = watermark

    def commit(self) -> None:
        """Make the state last."""
        self._environment.commit()

    def flush(self) -> None:
        """Bring what operators keep in memory into the stores."""
        self.pipeline.flush()

    def close(self) -> None:
        """Release the state."""
        self._environment.close()

    def counters(self) -> dict[str, Mapping[str, int]]:
        """Tell each operator's counts of rows not used."""
        return self.pipeline.counters()

    def _observe(self, decoded: Decoded) -> None:
        """Let the rows of a source move its watermark; intermediate streams have theirs from control messages."""
        assert decoded.rows is not None
        _, stream, partition = decoded.ssp
        time = latest(decoded.rows) if stream in self._sources else None
        if time is not None:
            self._states.observe(stream, partition, time)

    def _watermark(self, streams: Iterable[str]) -> int | None:
        owned = self._streams.intersection(streams)
        return self._states.watermark(*owned) if owned else None
