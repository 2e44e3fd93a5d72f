"""A task: its pipeline, its state, and the bookkeeping of what it has read."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.control.sequence_numbers import ReceivedSequences
from streamapp_core.control.stream_watermark import WatermarkHolder
from streamapp_core.control.task_watermarks import TaskWatermarks
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.rows.event_time_column import latest_event_time
from streamapp_runtime.state.checkpoint import (
    Checkpoint,
    InputPosition,
    StagedFile,
    add_counts,
    encode_checkpoint,
)
from streamapp_runtime.state.entry_columns import Entries
from streamapp_runtime.state.store_size import StoreSize
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tasks.pipeline import Pipeline
from streamapp_runtime.tasks.task_context import TaskContext

_BEGINNING = -(1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """The watermark of a task for the consumers of an intermediate stream, and whether all its inputs are idle.

    An idle task that has no watermark yet announces the lowest there is: it counts as known and holds nobody back.
    """

    watermark: int
    idle: bool


class Task:
    """The unit of order and state: operators over the partitions it owns, each read in the order of its offsets."""

    def __init__(
        self,
        context: TaskContext,
        *,
        checkpoint: Checkpoint | None,
        starts: Mapping[Ssp, int],
        pipeline: Pipeline,
        control: TaskWatermarks,
        side_inputs: SideInputs,
        sources: Collection[str],
        produces: Collection[str],
    ) -> None:
        """Continue from a checkpoint: that in the task's state, or what a new task takes over from others.

        `starts` are the partitions of its inputs, side inputs aside, with the offsets where those are read first that
        the checkpoint does not have. `sources` are the streams among them that come from outside, `produces` the
        intermediate streams it writes to. `side_inputs` fill the tables that are the task's own.
        """
        self.name = context.name
        self.pipeline = pipeline
        self.side_inputs = side_inputs
        """The side inputs that fill the task's own tables."""
        self._control = control
        self._clock_outlives_process = context.processor.clock_outlives_process
        self._state = context.state
        self._sources = sources
        self._streams = frozenset(ssp.stream for ssp in starts)
        self._producing = {node.name: node for node in pipeline.nodes if node.name in produces}
        self._announced: dict[str, Announcement] = {}
        self._sent = context.processor.writers.intermediate.sent[context.name]
        self._received = ReceivedSequences()
        self.positions = {
            ssp: InputPosition(offset=offset, rows=0, late_start=offset > 0 and ssp.stream not in sources)
            for ssp, offset in starts.items()
        }
        """The position of each partition: everything before it has been processed."""
        self._not_used: Mapping[str, Mapping[str, int]] = {}
        self._bad_rows = context.bad_rows
        self._dead_letters = context.processor.writers.dead_letters
        self.written = context.written
        """The number of rows written to each output since the run began."""
        self.touched = False
        """Whether anything has happened since the last commit."""
        if checkpoint is not None:
            self._continue_from(checkpoint)

    @property
    def ended(self) -> bool:
        """Whether all inputs have ended and all that follows from them has been emitted."""
        return self._control.all_ended and not self.pipeline.has_pending_results

    @property
    def bad_rows(self) -> tuple[str, ...]:
        """The first rows that could not be read or processed, each with its place and what was wrong."""
        return self._bad_rows.descriptions

    def take(self, decoded: DecodedBatch) -> None:
        """Process what was read of one partition.

        What the task has already, because another task has not, is left out: a batch is all old or all new.
        """
        _, stream, partition = decoded.ssp
        self.touched = True
        if self.side_inputs.reads(decoded.ssp):
            self.side_inputs.take(decoded)
            return
        before = self.positions[decoded.ssp]
        rows = 0
        if decoded.next_offset > before.offset:
            rows = self._process(decoded, before.offset)
        if decoded.ended:
            self._control.end(stream, partition)
        self.positions[decoded.ssp] = InputPosition(
            offset=max(decoded.next_offset, before.offset),
            rows=before.rows + rows,
            ungated=before.ungated or decoded.ungated,
            late_start=before.late_start,
        )

    def wait(self, ssp: Ssp) -> None:
        """Note that rows of a partition wait for others of its stream, so that its silence means nothing."""
        self._control.wake(ssp.stream, ssp.partition)

    def silent_partitions(self, since: int) -> Iterator[tuple[str, int]]:
        """Yield the stream and number of each partition that may become idle, and has had no rows since a time (ms)."""
        return self._control.silent_partitions(since)

    @property
    def next_idle_at(self) -> int | None:
        """The processing time (ms) at which the next partition may become idle, or a time before it; None: never."""
        return self._control.next_idle_at

    def confirm_read(self, ssp: Ssp, asked_at: int) -> None:
        """Note that all of a partition had been read when its system was asked, at a processing time (ms), or later."""
        self._control.confirm_read(ssp.stream, ssp.partition, asked_at)

    def interrupt(self, ssp: Ssp) -> None:
        """Note that a partition's system has not answered for it, so that its silence means nothing."""
        self._control.interrupt(ssp.stream, ssp.partition)

    def follow(self, ssp: Ssp) -> None:
        """Note that a partition that came with an expansion has been empty so far: it has its parents' watermark."""
        self._control.follow(ssp.stream, ssp.partition)

    def advance(self, now: int) -> bool:
        """Advance the watermarks by the processing time and by what was read; return whether one rose.

        The processing time is that of a clock that never jumps, in milliseconds.
        """
        self._control.advance_clock(now)
        self._bad_rows.place = "rows that a watermark released"
        risen = self.pipeline.advance(self._watermark)
        self.touched |= risen
        return risen

    def reads(self, stream: str) -> bool:
        """Return whether the task owns a partition of a stream."""
        return stream in self._streams

    def watermark(self, stream: str) -> int | None:
        """Return the watermark of a stream in this task; None without one."""
        return self._watermark((stream,))

    def held_back_by(self, stream: str) -> WatermarkHolder | None:
        """Return what holds the watermark of a stream back in this task; None if nothing does."""
        return self._control.held_back_by(stream)

    def has_ended(self, stream: str) -> bool:
        """Return whether everything of a stream has been read that the task will ever get."""
        return self._control.ended(stream)

    def unannounced(self, stream: str) -> Announcement | None:
        """Return what the consumers of an intermediate stream have not been sent yet; None if there is nothing."""
        node = self._producing.get(stream)
        if node is None or self.pipeline.has_pending_results:
            return None
        streams = self._streams.intersection(node.streams)
        idle = not self.pipeline.follows_clock(node) and self._control.idle(*streams)
        if node.watermark is None and not idle:
            return None
        news = Announcement(watermark=_BEGINNING if node.watermark is None else node.watermark, idle=idle)
        return None if news == self._announced.get(stream) else news

    def has_risen(self, stream: str, news: Announcement) -> bool:
        """Return whether an announcement to the consumers of a stream has a higher watermark than the last one."""
        last = self._announced.get(stream)
        return news.watermark > (_BEGINNING if last is None else last.watermark)

    def announce(self, stream: str, news: Announcement) -> None:
        """Note that an announcement has been sent to the consumers of an intermediate stream."""
        self._announced[stream] = news

    def flush(self) -> None:
        """Write what operators keep in memory to the stores."""
        self.pipeline.flush()

    def state_sizes(self) -> Mapping[str, StoreSize]:
        """Return the sizes of the stores of its operators and tables at the last commit."""
        return self._state.sizes()

    def changes(self) -> Iterator[Entries]:
        """Yield the changelog entries of what changed in the stores since the last commit."""
        return self._state.changes()

    def checkpoint(self, parts: Sequence[StagedFile] = ()) -> bytes:
        """Encode the checkpoint of the task as it is now, with the staged parts of its processor's file outputs."""
        positions: dict[str, dict[int, InputPosition]] = {}
        for ssp, position in {**self.positions, **self.side_inputs.positions}.items():
            positions.setdefault(ssp.stream, {})[ssp.partition] = position
        checkpoint = Checkpoint(
            positions=positions,
            control=self._control.snapshot().model_dump_json(),
            not_used=self.counters(),
            bad_rows=self.bad_rows,
            watermarks=self.pipeline.watermarks,
            written=dict(self.written),
            parts=tuple(parts),
            sent=self._sent.snapshot(),
            received=self._received.snapshot(),
        )
        return encode_checkpoint(checkpoint)

    def commit(self, position: int, checkpoint: bytes) -> None:
        """Commit the state, at its position in the changelog."""
        self._state.commit(position, checkpoint)
        self.side_inputs.commit()
        self.touched = False

    def commit_unchanged(self) -> None:
        """Note that a commit of its processor succeeded that had nothing of this task."""
        self._state.confirm()
        self.side_inputs.commit_unchanged()

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the number of rows not used, by operator or stream and by reason, since the run began."""
        return add_counts(self._not_used, self.pipeline.counters())

    def _continue_from(self, checkpoint: Checkpoint) -> None:
        self.touched = bool(checkpoint.parts)  # they are published: the next checkpoint lists them no more
        self._control.restore(checkpoint.snapshot())
        self.pipeline.resume(checkpoint.watermarks)
        self._not_used = checkpoint.not_used
        self.written.update(checkpoint.written)
        self._bad_rows.remember(*checkpoint.bad_rows)
        self._sent.restore(checkpoint.sent)
        for ssp in self.positions:
            position = checkpoint.positions.get(ssp.stream, {}).get(ssp.partition)
            if position is not None:
                self.positions[ssp] = position
                self._received.restore(*ssp[1:], checkpoint.received.get(ssp.stream, {}).get(ssp.partition, {}))
            may_be_idle = ssp.stream in self._sources and not self._control.ended(ssp.stream)
            if may_be_idle and not self._clock_outlives_process:
                self._control.wake(ssp.stream, ssp.partition)

    def _process(self, decoded: DecodedBatch, begin: int) -> int:
        """Process rows and control messages from an offset on; return the number of rows."""
        _, stream, partition = decoded.ssp
        for number in decoded.sequence:
            self._received.take(decoded.ssp, number, late_start=self.positions[decoded.ssp].late_start)
        if decoded.rows is not None:
            self._bad_rows.place = f"{decoded.ssp}, offsets {begin} to {decoded.next_offset - 1}"
            self.pipeline.push(stream, decoded.rows)
            self._observe(decoded)
        for control in decoded.controls:
            self._control.apply(stream, partition, control)
        if decoded.not_used:
            self._not_used = add_counts(self._not_used, {stream: decoded.not_used})
            self._bad_rows.remember(*decoded.bad_rows)
            self._dead_letters.send(decoded)
        return 0 if decoded.rows is None else len(decoded.rows)

    def _observe(self, decoded: DecodedBatch) -> None:
        """Advance the watermark of a source by its rows; intermediate streams have theirs from control messages."""
        assert decoded.rows is not None
        _, stream, partition = decoded.ssp
        time = latest_event_time(decoded.rows) if stream in self._sources else None
        if time is not None:
            self._control.observe(stream, partition, time)

    def _watermark(self, streams: Iterable[str]) -> int | None:
        owned = self._streams.intersection(streams)
        return self._control.watermark(*owned) if owned else None
