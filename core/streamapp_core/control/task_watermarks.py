"""The watermarks and ends of all that one task reads (docs/control-messages.md)."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.control.intermediate_partition_watermark import IntermediatePartition
from streamapp_core.control.messages import END_OF_TIME, ControlMessage
from streamapp_core.control.source_partition_watermark import SourcePartition, SourceTiming
from streamapp_core.control.stream_watermark import StreamWatermark, WatermarkHolder

_NO_PARTITIONS = StreamWatermark({})


class TaskWatermarks:
    """The watermarks and ends of the inputs of one task.

    A stream is known by its name. The watermark of a stream is None until each of its partitions has one, never goes
    back, and is `END_OF_TIME` when the stream has ended. A stream of which the task owns no partition has ended.
    Side inputs are left out. Calls come from one thread; each costs a few dictionary lookups.

    Args:
        ssps: (stream, partition) of the task.
        producers: for each intermediate stream the tasks that the newest job model expects to write to it, or None
            for a stream of another app. All other streams are sources.
        sources: how event time advances in a source; one that is not named is in order and never idle.
        now: processing time in ms, of a clock that never jumps.
    """

    def __init__(
        self,
        ssps: Iterable[tuple[str, int]],
        *,
        producers: Mapping[str, Collection[str] | None],
        sources: Mapping[str, SourceTiming],
        now: int,
    ) -> None:
        self._now = now
        self._intermediate: dict[tuple[str, int], IntermediatePartition] = {}
        self._sources: dict[tuple[str, int], SourcePartition] = {}
        expected = {stream: _expected(tasks) for stream, tasks in producers.items()}
        streams: dict[str, dict[int, IntermediatePartition | SourcePartition]] = {}
        for stream, partition in ssps:
            members = streams.setdefault(stream, {})
            if stream in expected:
                members[partition] = self._intermediate[stream, partition] = IntermediatePartition(expected[stream])
            else:
                timing = sources.get(stream, SourceTiming())
                members[partition] = self._sources[stream, partition] = SourcePartition(timing, now)
        self._streams = {stream: StreamWatermark(members) for stream, members in streams.items()}
        self._next_idle_at = self._rest()

    def apply(self, stream: str, partition: int, message: ControlMessage) -> None:
        """Apply a control message that was read from a partition of an intermediate stream."""
        self._intermediate[stream, partition].apply(message)
        self._streams[stream].refresh(partition)

    def update_producers(self, producers: Mapping[str, Collection[str] | None]) -> None:
        """Set the producers of these streams, from a new job model."""
        for stream, tasks in producers.items():
            expected = _expected(tasks)
            state = self._streams.get(stream, _NO_PARTITIONS)
            for partition in state.partitions:
                self._intermediate[stream, partition].expect(expected)
            state.refresh(*state.partitions)

    def observe(self, stream: str, partition: int, max_event_time: int) -> None:
        """Apply the highest event time of rows that were read from a partition of a source."""
        state = self._sources[stream, partition]
        state.observe(max_event_time, self._now)
        self._awake(stream, partition, state)

    def wake(self, stream: str, partition: int) -> None:
        """Mark a partition of a source as active, though no rows came: its idle timeout starts again.

        After a restart, call it for each partition with something left to read: the time that the task did not run does
        not count. Nor does the time that rows of the partition wait for its parents after an expansion.
        """
        state = self._sources[stream, partition]
        state.wake(self._now)
        self._awake(stream, partition, state)

    def silent_partitions(self, since: int) -> Iterator[tuple[str, int]]:
        """Yield the partitions of sources that may become idle, and have had no rows since a time (ms)."""
        return (ssp for ssp, state in self._sources.items() if state.silent_since(since))

    def confirm_read(self, stream: str, partition: int, asked_at: int) -> None:
        """Apply the answer of a source's system, asked at a time (ms): all of a partition has been read.

        `advance_clock` makes a partition idle only by such an answer.
        """
        self._sources[stream, partition].confirm_read(asked_at)

    def interrupt(self, stream: str, partition: int) -> None:
        """Note that a source's system has not answered for a partition: the idle timeout starts again."""
        self._sources[stream, partition].interrupt(self._now)

    def follow(self, stream: str, partition: int) -> None:
        """Mark a partition of a source as new by an expansion, and empty.

        Until it wakes, it has the watermark of its parents, which belong to the same task. Not part of snapshots.
        """
        self._sources[stream, partition].follows = True
        self._streams[stream].refresh(partition)

    def end(self, stream: str, partition: int) -> None:
        """Mark a partition of a bounded source as read to its end."""
        self._sources[stream, partition].ended = True
        self._streams[stream].refresh(partition)

    def advance_clock(self, now: int) -> None:
        """Advance the processing time, in ms; an earlier one than before changes nothing."""
        self._now = max(self._now, now)
        if self._next_idle_at is not None and self._now >= self._next_idle_at:
            self._next_idle_at = self._rest()

    @property
    def next_idle_at(self) -> int | None:
        """The processing time (ms) at which the next partition may become idle, or a time before it; None: never."""
        return self._next_idle_at

    def watermark(self, *streams: str) -> int | None:
        """Return the minimum of the watermarks of some streams; None if one of them has none."""
        lowest = END_OF_TIME
        for stream in streams:
            watermark = self._streams.get(stream, _NO_PARTITIONS).watermark
            if watermark is None:
                return None
            lowest = min(lowest, watermark)
        return lowest

    def ended(self, *streams: str) -> bool:
        """Return whether all of some streams have ended."""
        return all(stream not in self._streams or self._streams[stream].ended for stream in streams)

    @property
    def all_ended(self) -> bool:
        """Whether everything that the task reads has ended."""
        return self.ended(*self._streams)

    def idle(self, *streams: str) -> bool:
        """Return whether all of some streams that have not ended are idle, and there is one."""
        live = [self._streams[stream] for stream in streams if not self.ended(stream)]
        return bool(live) and all(stream.idle for stream in live)

    def held_back_by(self, stream: str) -> WatermarkHolder | None:
        """Return the partition, and of an intermediate stream the producer, that holds the watermark back, if any."""
        return self._streams.get(stream, _NO_PARTITIONS).held_back_by()

    def snapshot(self) -> ControlSnapshot:
        """Return all that is needed to continue later, for the checkpoint."""
        return ControlSnapshot(
            watermarks={stream: state.watermark for stream, state in self._streams.items()},
            intermediate=tuple(state.snapshot(*ssp) for ssp, state in self._intermediate.items()),
            sources=tuple(state.snapshot(*ssp) for ssp, state in self._sources.items()),
        )

    def restore(self, snapshot: ControlSnapshot) -> None:
        """Restore a snapshot, before anything else. What the task does not own any more is dropped."""
        for intermediate in snapshot.intermediate:
            if partition := self._intermediate.get((intermediate.stream, intermediate.partition)):
                partition.restore(intermediate)
        for source in snapshot.sources:
            if owned := self._sources.get((source.stream, source.partition)):
                owned.restore(source)
        self._next_idle_at = self._rest()
        for stream, state in self._streams.items():
            state.restore(snapshot.watermarks.get(stream))

    def _awake(self, stream: str, partition: int, state: SourcePartition) -> None:
        self._streams[stream].refresh(partition)
        idle_at = state.idle_at
        if idle_at is not None and (self._next_idle_at is None or idle_at < self._next_idle_at):
            self._next_idle_at = idle_at

    def _rest(self) -> int | None:
        """Mark partitions whose idle timeout has passed as idle; return the time when the next one may be."""
        resting: dict[str, list[int]] = {}
        for (stream, partition), state in self._sources.items():
            if state.rest(self._now):
                resting.setdefault(stream, []).append(partition)
        for stream, partitions in resting.items():
            self._streams[stream].refresh(*partitions)
        return min((state.idle_at for state in self._sources.values() if state.idle_at is not None), default=None)


def _expected(tasks: Collection[str] | None) -> frozenset[str] | None:
    return None if tasks is None else frozenset(tasks)
