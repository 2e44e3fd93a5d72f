"""The sending of watermarks and ends of streams to the consumers of intermediate streams, in rounds."""

from collections.abc import Mapping, Sequence

from streamapp_core.control.messages import END_OF_TIME, EndOfStream, Watermark
from streamapp_runtime.tasks.task import Announcement, Task
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter


class ControlMessageSender:
    """The sender of what tasks have not announced yet: one record per partition for all tasks of the processor.

    See docs/control-messages.md.
    """

    def __init__(
        self, writer: IntermediateWriter, tasks: Sequence[Task], producers: Mapping[str, int], interval: int
    ) -> None:
        """Take the tasks here; `producers` are the numbers of tasks, here and elsewhere, that write to each stream.

        Watermarks are sent at most once an interval (milliseconds), ends at once.
        """
        self._writer = writer
        self._tasks = tasks
        self._producers = producers
        self._interval = interval
        self._last_round: int | None = None

    def has_unsent_ends(self) -> bool:
        """Return whether a task has ended a stream without having announced it."""
        return any(_is_end(task.unannounced(stream)) for task in self._tasks for stream in self._producers)

    def has_unsent(self) -> bool:
        """Return whether a task has anything to announce."""
        return any(task.unannounced(stream) is not None for task in self._tasks for stream in self._producers)

    def send(self, now: int) -> None:
        """Send a round: the new watermarks, then the ends, behind all rows sent so far.

        A clock that was set back begins a new interval: consumers do not wait until it shows the former time again.
        """
        early = self._last_round is not None and 0 <= now - self._last_round < self._interval
        if not early:
            self._last_round = now
        for stream, count in self._producers.items():
            unsent = [(task, new) for task in self._tasks if (new := task.unannounced(stream)) is not None]
            self._send(stream, count, [(task, new) for task, new in unsent if _is_end(new) or not early], now)

    def _send(self, stream: str, count: int, unsent: Sequence[tuple[Task, Announcement]], now: int) -> None:
        """Send watermarks and ends. Idle tasks are left out, so the last watermark of one comes before its idleness."""
        open_ = [(task, new) for task, new in unsent if not _is_end(new)]
        active = [(task, new) for task, new in open_ if not new.idle or task.has_risen(stream, new)]
        idle = [(task, new) for task, new in open_ if new.idle]
        for resting, tasks in ((False, active), (True, idle)):
            times = tuple((task.name, new.watermark) for task, new in tasks)
            if times:
                self._writer.send_control(stream, Watermark(timestamps=times, task_count=count, idle=resting), now)
        ends = tuple(task.name for task, new in unsent if _is_end(new))
        if ends:
            self._writer.send_control(stream, EndOfStream(tasks=ends, task_count=count), now)
        for task, new in unsent:
            task.announce(stream, new)


def _is_end(announcement: Announcement | None) -> bool:
    return announcement is not None and announcement.watermark == END_OF_TIME
