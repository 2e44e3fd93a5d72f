"""A task: its pipeline, its state, and the bookkeeping of what it has read."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.control.stream_watermark import HeldBack
from streamapp_core.control.task_watermarks import ControlStates
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.rows.event_time_column import latest
from streamapp_runtime.state.checkpoint import (
    Checkpoint,
    Part,
    Position,
    counts_added,
    encode_checkpoint,
)
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tasks.pipeline import Pipeline

_BEGINNING = -(1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What a task tells the consumers of an intermediate stream: its watermark, and whether all its inputs are idle.

    An idle task that has no watermark yet gives the lowest there is: it counts as reported and holds nobody back.
    """

    watermark: int
    idle: bool


class Task:
    """Runs the operators over the partitions it owns, in the order the messages lie in each of them."""

    def __init__(
        self,
        name: str,
        *,
        starts: Mapping[Ssp, int],
        pipeline: Pipeline,
        states: ControlStates,
        state: TaskState,
        side_inputs: SideInputs,
        bad_rows: BadRows,
        written: Counter[str],
        sources: Collection[str],
        produces: Collection[str],
    ) -> None:
        """Take the partitions of its inputs, side inputs aside, and go on from the checkpoint in its state.

        Where it says nothing of a partition, that is read from the first offset in `starts`.

        `sources` are those of their streams that come from outside, `produces` the intermediate ones it writes to.
        `bad_rows` and `written`, the rows of each output, are shared with the operators.
        """
        self.name = name
        self.pipeline = pipeline
        self.side_inputs = side_inputs
        """What fills the tables that are the task's own."""
        self._states = states
        self._state = state
        self._sources = sources
        self._streams = frozenset(ssp.stream for ssp in starts)
        self._producing = {node.name: node for node in pipeline.nodes if node.name in produces}
        self._announced: dict[str, Announcement] = {}
        self.positions = {ssp: Position(offset=offset, rows=0) for ssp, offset in starts.items()}
        """How far each partition has been read."""
        self._not_used: Mapping[str, Mapping[str, int]] = {}
        self._bad_rows = bad_rows
        self.written = written
        """How many rows the task has written to each output since the run began."""
        self.touched = False
        """Whether anything has happened since the last commit."""
        if state.checkpoint is not None:
            self._go_on_from(state.checkpoint)

    @property
    def ended(self) -> bool:
        """Whether all inputs have ended and all that follows from them has been given out."""
        return self._states.all_ended and not self.pipeline.unfinished

    @property
    def bad_rows(self) -> tuple[str, ...]:
        """The first rows that could not be read or processed, each with its place and what was wrong."""
        return self._bad_rows.told

    def take(self, decoded: DecodedBatch) -> None:
        """Process what was read of one partition."""
        _, stream, partition = decoded.ssp
        self.touched = True
        if self.side_inputs.reads(decoded.ssp):
            self.side_inputs.take(decoded)
            return
        before = self.positions[decoded.ssp]
        if decoded.rows is not None:
            self._bad_rows.place = f"{decoded.ssp}, offsets {before.offset} to {decoded.next_offset - 1}"
            self.pipeline.push(stream, decoded.rows)
            self._observe(decoded)
        for control in decoded.controls:
            self._states.apply(stream, partition, control)
        if decoded.ended:
            self._states.end(stream, partition)
        if decoded.not_used:
            self._not_used = counts_added(self._not_used, {stream: decoded.not_used})
            self._bad_rows.remember(*decoded.bad_rows)
        rows = 0 if decoded.rows is None else len(decoded.rows)
        ungated = before.ungated or decoded.ungated
        self.positions[decoded.ssp] = Position(offset=decoded.next_offset, rows=before.rows + rows, ungated=ungated)

    def wait(self, ssp: Ssp) -> None:
        """Note that rows of a partition wait for others of its stream, so that its silence means nothing."""
        self._states.wake(ssp.stream, ssp.partition)

    def follow(self, ssp: Ssp) -> None:
        """Note that a partition that came with an expansion has been empty so far: it has its parents' watermark."""
        self._states.follow(ssp.stream, ssp.partition)

    def advance(self, now: int) -> bool:
        """Let the time of day (milliseconds) and what was read move the watermarks; True if one rose."""
        self._states.advance_clock(now)
        self._bad_rows.place = "rows that a watermark released"
        risen = self.pipeline.advance(self._watermark)
        self.touched |= risen
        return risen

    def reads(self, stream: str) -> bool:
        """Whether the task owns a partition of a stream."""
        return stream in self._streams

    def watermark(self, stream: str) -> int | None:
        """Tell the watermark of a stream in this task; None without one."""
        return self._watermark((stream,))

    def held_back_by(self, stream: str) -> HeldBack | None:
        """Tell what holds the watermark of a stream back in this task; None if nothing does."""
        return self._states.held_back_by(stream)

    def has_ended(self, stream: str) -> bool:
        """Whether everything of a stream has been read that the task will ever get."""
        return self._states.ended(stream)

    def unannounced(self, stream: str) -> Announcement | None:
        """Tell what the consumers of an intermediate stream have not heard of yet; None if there is nothing."""
        node = self._producing.get(stream)
        if node is None or self.pipeline.unfinished:
            return None
        idle = self._states.idle(*self._streams.intersection(node.streams))
        if node.watermark is None and not idle:
            return None
        news = Announcement(watermark=_BEGINNING if node.watermark is None else node.watermark, idle=idle)
        return None if news == self._announced.get(stream) else news

    def announce(self, stream: str, news: Announcement) -> None:
        """Note that news is on its way to the consumers of an intermediate stream."""
        self._announced[stream] = news

    def flush(self) -> None:
        """Bring what operators keep in memory into the stores."""
        self.pipeline.flush()

    def changes(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Give the changelog entries of what changed in the stores since the last commit."""
        return self._state.changes()

    def checkpoint(self, parts: Sequence[Part] = ()) -> bytes:
        """Write down where the task is now, with the parts of file outputs that its processor has staged."""
        positions: dict[str, dict[int, Position]] = {}
        for ssp, position in {**self.positions, **self.side_inputs.positions}.items():
            positions.setdefault(ssp.stream, {})[ssp.partition] = position
        checkpoint = Checkpoint(
            positions=positions,
            control=self._states.snapshot().model_dump_json(),
            not_used=self.counters(),
            bad_rows=self.bad_rows,
            written=dict(self.written),
            parts=tuple(parts),
        )
        return encode_checkpoint(checkpoint)

    def commit(self, position: int, checkpoint: bytes) -> None:
        """Make the state last, at its position in the changelog."""
        self._state.commit(position, checkpoint)
        self.side_inputs.commit()
        self.touched = False

    def confirm(self) -> None:
        """Note that a commit of its processor went through that had nothing of this task."""
        self._state.confirm()

    def counters(self) -> dict[str, dict[str, int]]:
        """Tell, by operator or stream, how many rows were not used and why, since the run began."""
        return counts_added(self._not_used, self.pipeline.counters())

    def _go_on_from(self, checkpoint: Checkpoint) -> None:
        self._states.restore(checkpoint.snapshot())
        self._not_used = checkpoint.not_used
        self.written.update(checkpoint.written)
        self._bad_rows.remember(*checkpoint.bad_rows)
        for ssp in self.positions:
            position = checkpoint.positions.get(ssp.stream, {}).get(ssp.partition)
            if position is not None:
                self.positions[ssp] = position
            if ssp.stream in self._sources and not self._states.ended(ssp.stream):
                self._states.wake(ssp.stream, ssp.partition)

    def _observe(self, decoded: DecodedBatch) -> None:
        """Let the rows of a source move its watermark; intermediate streams have theirs from control messages."""
        assert decoded.rows is not None
        _, stream, partition = decoded.ssp
        time = latest(decoded.rows) if stream in self._sources else None
        if time is not None:
            self._states.observe(stream, partition, time)

    def _watermark(self, streams: Iterable[str]) -> int | None:
        owned = self._streams.intersection(streams)
        return self._states.watermark(*owned) if owned else None
