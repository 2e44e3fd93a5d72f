"""The clocks of a processor."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from streamapp_systems.clock import time_of_day


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorClock:
    """Monotonic seconds, a sleep of seconds, and the time of day in milliseconds since 1970."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    time_of_day: Callable[[], int]


def system_clock() -> ProcessorClock:
    """Return the clocks of this machine."""
    return ProcessorClock(monotonic=time.monotonic, sleep=time.sleep, time_of_day=time_of_day)
