"""The watermark and end of one partition of an intermediate stream, for one task (docs/control-messages.md)."""

from collections.abc import Iterable, Set
from itertools import islice

from streamapp_core.control.control_snapshot import IntermediateSnapshot
from streamapp_core.control.messages import END_OF_TIME, ControlMessage, EndOfStream, Watermark
from streamapp_core.control.rising_minimum import RisingMinimum
from streamapp_core.tasks.natural_order import natural_key

_UNKNOWN_PRODUCER = ""
"""Stands for the producers of another app that have not reported yet. No task has this name."""


class IntermediatePartition:
    """The watermark and end of one partition, from the reports of its producers.

    The watermark is the minimum over the expected producers, once all have reported. Those that have ended or are idle
    are left out; when only such remain, and not all have ended, it stays. All reports are kept, also those of
    unexpected producers: the next job model may expect them.
    """

    __slots__ = ("_ended_tasks", "_idle_tasks", "_minimum", "_producers", "_task_count", "_timestamps", "ended")

    def __init__(self, producers: Set[str] | None) -> None:
        self.ended = False
        self._timestamps: dict[str, int] = {}  # of a stream of another app: in the order of their last messages
        self._ended_tasks: set[str] = set()
        self._idle_tasks: set[str] = set()
        self._task_count: int | None = None
        self._minimum: RisingMinimum[str] = RisingMinimum()
        self.expect(producers)

    @property
    def watermark(self) -> int | None:
        """The event time that the partition has reached, in ms; None before all have reported."""
        return END_OF_TIME if self.ended else self._minimum.value

    @property
    def idle(self) -> bool:
        """Whether all producers that have not ended are idle."""
        return not self.ended and not len(self._minimum)

    @property
    def contributes(self) -> bool:
        """Whether it takes part in the watermark of the stream. An idle one does: its producers report idleness."""
        return not self.ended

    def expect(self, producers: Set[str] | None) -> None:
        """Set the producers of the newest job model; None: those of another app, whose messages have their number."""
        self._producers = producers
        self._recount()

    def apply(self, message: ControlMessage) -> None:
        """Apply a control message of this partition; an ended partition stays as it is."""
        if self.ended:
            return
        known = len(self._timestamps)
        match message:
            case Watermark(timestamps=timestamps, idle=idle):
                self._discard_reports_if_fewer(message.task_count, [task for task, _ in timestamps])
                for task, time in timestamps:
                    self._report(task, time, idle=idle)
            case EndOfStream(tasks=tasks):
                self._discard_reports_if_fewer(message.task_count, tasks)
                for task in tasks:
                    self._report(task, END_OF_TIME, idle=False)
                self._ended_tasks.update(tasks)
        before, self._task_count = self._task_count, message.task_count
        same = self._producers is not None or before == message.task_count == known == len(self._timestamps)
        if same and isinstance(message, Watermark):
            self._minimum.advance()
        else:
            self._recount()

    def _discard_reports_if_fewer(self, count: int, reporting: Iterable[str]) -> None:
        """Discard the reports of another app's producers, if there are fewer producers now than have reported.

        It is unknown which have left, and the watermark must not follow the first ones to report alone; it stays until
        as many producers have reported again.
        """
        fewer = self._producers is None and self._task_count is not None and count < self._task_count
        if fewer and len(self._timestamps.keys() | set(reporting)) > count:
            self._timestamps.clear()
            self._ended_tasks.clear()
            self._idle_tasks.clear()

    def _report(self, task: str, time: int, *, idle: bool) -> None:
        time = max(time, self._timestamps.get(task, time))
        if self._producers is None:
            self._timestamps.pop(task, None)
        self._timestamps[task] = time
        if idle:
            self._idle_tasks.add(task)
            self._minimum.remove(task)
        else:
            self._idle_tasks.discard(task)
            if (self._producers is None or task in self._producers) and task not in self._ended_tasks:
                self._minimum.put(task, time)

    def _recount(self) -> None:
        expected = self._expected()
        live = [task for task in expected if task not in self._ended_tasks]
        self.ended = self.ended or not live
        self._minimum.reset({task: self._timestamps.get(task) for task in live if task not in self._idle_tasks})

    def _expected(self) -> Iterable[str]:
        """Return the producers that count: of another app, as many of the last reporters as in its last message."""
        if self._producers is not None:
            return self._producers
        count = self._task_count
        if count is None or count > len(self._timestamps):
            return [*self._timestamps, _UNKNOWN_PRODUCER]
        return list(islice(reversed(self._timestamps), count))

    def held_back_by(self) -> str | None:
        """Return the producer that holds the watermark back; None if none does, or it has never reported."""
        tasks, _ = self._minimum.lowest_members()
        return min(tasks, key=natural_key, default=None) or None

    def snapshot(self, stream: str, partition: int) -> IntermediateSnapshot:
        """Return all reports, for the checkpoint."""
        return IntermediateSnapshot(
            stream=stream,
            partition=partition,
            watermark=self._minimum.value,
            timestamps=dict(self._timestamps),
            ended_tasks=tuple(sorted(self._ended_tasks)),
            idle_tasks=tuple(sorted(self._idle_tasks)),
            task_count=self._task_count,
            ended=self.ended,
        )

    def restore(self, snapshot: IntermediateSnapshot) -> None:
        """Restore a snapshot, under the producers that are expected now."""
        self._minimum.value = snapshot.watermark
        self._timestamps = dict(snapshot.timestamps)
        self._ended_tasks = set(snapshot.ended_tasks)
        self._idle_tasks = set(snapshot.idle_tasks)
        self._task_count = snapshot.task_count
        self.ended = snapshot.ended
        self._recount()
