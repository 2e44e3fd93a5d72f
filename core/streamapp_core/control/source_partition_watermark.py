"""The watermark and end of one partition of a source, for one task (docs/control-messages.md)."""

from dataclasses import dataclass

from streamapp_core.control.control_snapshot import SourceSnapshot
from streamapp_core.control.messages import END_OF_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTiming:
    """The settings of event time in a stream, in ms.

    Attributes:
        max_out_of_orderness: rows come at most this much later than rows of a higher event time.
        idle_timeout: a partition that has no rows for so long becomes idle and is left out; None: never.
    """

    max_out_of_orderness: int = 0
    idle_timeout: int | None = None


class SourcePartition:
    """The watermark and end of one partition, from the event times of its rows.

    It is idle, and left out, from the first answer of its system that all of it has been read, if that was asked for
    `idle_timeout` or more after its last row (or the start), to its next row. A time in which its system did not answer
    is no silence: the timeout starts again.
    One that came with an expansion follows its parents as long as it is empty: it has their watermark, which they bring
    in themselves, and is idle when they are.
    """

    __slots__ = ("_active_at", "_latest", "_read_at", "_timing", "ended", "follows", "idle")

    def __init__(self, timing: SourceTiming, now: int) -> None:
        self.ended = False
        self.idle = False
        self.follows = False
        self._timing = timing
        self._latest: int | None = None
        self._active_at = now
        self._read_at: int | None = None

    @property
    def watermark(self) -> int | None:
        """The highest event time less the allowed disorder, in ms; None before the first row."""
        if self.ended:
            return END_OF_TIME
        return None if self._latest is None else self._latest - self._timing.max_out_of_orderness

    @property
    def contributes(self) -> bool:
        """Whether it takes part in the watermark of the stream."""
        return not (self.ended or self.idle or self.follows)

    @property
    def idle_at(self) -> int | None:
        """The processing time from which the partition may become idle, if nothing comes; None: never."""
        if self._timing.idle_timeout is None or not self.contributes:
            return None
        return self._active_at + self._timing.idle_timeout

    def observe(self, event_time: int, now: int) -> None:
        """Apply the highest event time of some rows."""
        if self._latest is None or event_time > self._latest:
            self._latest = event_time
        self.wake(now)

    def silent_since(self, time: int) -> bool:
        """Return whether the partition may become idle, and has had no rows since a time, at the latest."""
        return self.idle_at is not None and self._active_at <= time

    def confirm_read(self, asked_at: int) -> None:
        """Note the answer of its system that all had been read when it was asked, or later."""
        self._read_at = asked_at if self._read_at is None else max(self._read_at, asked_at)

    def interrupt(self, now: int) -> None:
        """Start the idle timeout again, since its system did not answer; what is idle stays so."""
        if not self.idle:
            self._active_at = now

    def wake(self, now: int) -> None:
        """End idleness: the idle timeout starts again."""
        self._active_at = now
        self.idle = self.follows = False

    def rest(self, now: int) -> bool:
        """Become idle if the idle timeout has passed and all was read after it; return whether that is new."""
        idle_at = self.idle_at
        silent = idle_at is not None and self._read_at is not None and idle_at <= self._read_at <= now
        self.idle = self.idle or silent
        return idle_at is not None and self.idle

    def snapshot(self, stream: str, partition: int) -> SourceSnapshot:
        """Return the value for the checkpoint; whether it is idle follows from the clock."""
        return SourceSnapshot(
            stream=stream, partition=partition, latest=self._latest, active_at=self._active_at, ended=self.ended
        )

    def restore(self, snapshot: SourceSnapshot) -> None:
        """Restore a snapshot."""
        self._latest = snapshot.latest
        self._active_at = snapshot.active_at
        self.ended = snapshot.ended
