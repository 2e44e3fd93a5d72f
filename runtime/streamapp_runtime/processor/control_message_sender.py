"""Rounds of control messages: what the tasks of a processor have to tell the consumers of intermediate streams."""

from collections.abc import Mapping, Sequence

from streamapp_core.control.messages import END_OF_TIME, EndOfStream, Watermark
from streamapp_runtime.tasks.task import Announcement, Task
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter


class ControlMessageSender:
    """Sends what tasks have not announced yet: one record per partition for all tasks of the processor (design 7)."""

    def __init__(
        self, writer: IntermediateWriter, tasks: Sequence[Task], producers: Mapping[str, int], interval: int
    ) -> None:
        """Take the intermediate streams and how many tasks are expected to produce each of them.

        Watermarks go out at most once an interval (milliseconds), ends at once.
        """
        self._writer = writer
        self._tasks = tasks
        self._producers = producers
        self._interval = interval
        self._last_round: int | None = None

    def has_unsent_ends(self) -> bool:
        """Whether a task has ended a stream and its consumers have not heard of it."""
        return any(_is_end(task.unannounced(stream)) for task in self._tasks for stream in self._producers)

    def has_unsent(self) -> bool:
        """Whether a task has anything to tell."""
        return any(task.unannounced(stream) is not None for task in self._tasks for stream in self._producers)

    def send(self, now: int) -> None:
        """Send a round: the new watermarks, then the ends, behind all rows sent so far.

        A clock that was put back begins a new interval: no consumer waits until it is as late as it was.
        """
        early = self._last_round is not None and 0 <= now - self._last_round < self._interval
        if not early:
            self._last_round = now
        for stream, count in self._producers.items():
            news = [(task, said) for task in self._tasks if (said := task.unannounced(stream)) is not None]
            self._send(stream, count, [(task, said) for task, said in news if _is_end(said) or not early], now)

    def _send(self, stream: str, count: int, news: Sequence[tuple[Task, Announcement]], now: int) -> None:
        for idle in (False, True):
            risen = [(task.name, said.watermark) for task, said in news if said.idle is idle and not _is_end(said)]
            if risen:
                self._writer.send_control(stream, Watermark(timestamps=tuple(risen), task_count=count, idle=idle), now)
        ends = tuple(task.name for task, said in news if _is_end(said))
        if ends:
            self._writer.send_control(stream, EndOfStream(tasks=ends, task_count=count), now)
        for task, said in news:
            task.announce(stream, said)


def _is_end(said: Announcement | None) -> bool:
    return said is not None and said.watermark == END_OF_TIME
