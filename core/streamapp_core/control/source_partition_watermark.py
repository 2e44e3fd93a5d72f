"""The watermark and end of one partition of a source, for one task (docs/control-messages.md)."""

from dataclasses import dataclass

from streamapp_core.control.control_snapshot import SourceSnapshot
from streamapp_core.control.messages import END_OF_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTiming:
    """The settings of event time in a stream, in ms.

    Attributes:
        max_out_of_orderness: rows come at most this much later than rows of a higher event time.
        idle_timeout: a partition without rows for so long becomes idle and is left out; None: never.
    """

    max_out_of_orderness: int = 0
    idle_timeout: int | None = None


class SourcePartition:
    """The watermark and end of one partition, from the event times of its rows.

    It is idle, and left out, from `idle_timeout` after its last row (or the start) to its next row.
    One that came with an expansion follows its parents as long as it is empty: it has their watermark, which they bring
    in themselves, and is idle when they are.
    """

    __slots__ = ("_active_at", "_latest", "_timing", "ended", "follows", "idle")

    def __init__(self, timing: SourceTiming, now: int) -> None:
        self.ended = False
        self.idle = False
        self.follows = False
        self._timing = timing
        self._latest: int | None = None
        self._active_at = now

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
        """The processing time at which the partition becomes idle, if nothing comes; None: never."""
        if self._timing.idle_timeout is None or not self.contributes:
            return None
        return self._active_at + self._timing.idle_timeout

    def observe(self, event_time: int, now: int) -> None:
        """Apply the highest event time of some rows."""
        if self._latest is None or event_time > self._latest:
            self._latest = event_time
        self.wake(now)

    def wake(self, now: int) -> None:
        """End idleness: the idle timeout starts again."""
        self._active_at = now
        self.idle = self.follows = False

    def rest(self, now: int) -> bool:
        """Become idle if the idle timeout has passed; return whether that is new."""
        idle_at = self.idle_at
        self.idle = self.idle or (idle_at is not None and now >= idle_at)
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
