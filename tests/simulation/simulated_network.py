"""The plain way to a simulated broker: each call arrives at once, and is answered at once."""

import threading
import time
from collections.abc import Callable

from simulation.kafka_requests import Answer, Request
from simulation.simulated_broker import SimulatedBroker


class VirtualTime:
    """A clock in milliseconds that goes on by sleeps only."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now = now

    def now(self) -> int:
        """Return the time."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass: a millisecond at least."""
        self._now += max(round(seconds * 1000), 1)


class RealTime:
    """The clock of this machine."""

    def now(self) -> int:
        """Return the time of day in milliseconds."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class DirectNetwork:
    """See `Network`. Threads may share one: their calls take turns.

    Before each call the broker does what is due by then: it aborts transactions that took too long, and writes the
    markers that were decided `marker_delay_ms` ago.
    """

    def __init__(
        self, broker: SimulatedBroker, clock: VirtualTime | RealTime, *, marker_delay_ms: Callable[[], int] = lambda: 0
    ) -> None:
        self.broker = broker
        self._clock = clock
        self._marker_delay_ms = marker_delay_ms
        self._turn = threading.Lock()

    def call(self, request: Request[Answer]) -> Answer:
        """Return the broker's answer, as `Network.call` does."""
        with self._turn:
            self._do_what_is_due()
            return self.broker.handle(request, self.now())

    def connection(self) -> int:
        """See `Network.connection`."""
        return self.broker.deaths

    def now(self) -> int:
        """Return the time of day."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)

    def _do_what_is_due(self) -> None:
        now = self.now()
        self.broker.abort_expired_transactions(now)
        for marker in self.broker.due_markers():
            if marker.since + self._marker_delay_ms() <= now:
                self.broker.write_marker(marker, now)
