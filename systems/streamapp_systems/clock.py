"""The clocks of this machine. Driver and processors get theirs here; clients of systems read it for their timeouts."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Monotonic seconds, a sleep of seconds, and the time of day in milliseconds since 1970."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    time_of_day: Callable[[], int]

    @property
    def outlives_process(self) -> bool:
        """Whether the monotonic milliseconds go on in the next process: what was silent has been so in between."""
        return False

    def monotonic_milliseconds(self) -> int:
        """Return the monotonic time in whole milliseconds: it never jumps, and means nothing in another process."""
        return int(self.monotonic() * 1_000)


def now() -> datetime:
    """Return the time of day, in UTC."""
    return datetime.now(UTC)


def time_of_day() -> int:
    """Return the time of day in milliseconds since 1970 UTC, as records and documents have it."""
    return time.time_ns() // 1_000_000


def system_clock() -> Clock:
    """Return the clocks of this machine."""
    return Clock(monotonic=time.monotonic, sleep=time.sleep, time_of_day=time_of_day)
