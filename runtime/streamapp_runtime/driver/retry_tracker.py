"""Failures that a run recovers from: the backoff until the next try, and the limit after which the run fails."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from streamapp_runtime.driver.fleet import End, Life
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import FAILURES, OUTAGES, TRANSIENT, ProcessorFailed, SideInputChanged, SystemAway
from streamapp_systems.clock import Clock

_LOGGER = logging.getLogger("streamapp.driver")
_MOST_INCIDENTS = 100
_LONGEST_TRY = 90.0
"""Seconds that a system may be asked for, with the backoff before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failures:
    """The failures of a processor in a row, and its furthest progress (the offsets it had committed, added up)."""

    count: int = 0
    furthest: int = -1

    def are_over(self, life: Life, timeouts: Timeouts) -> bool:
        """Return whether an incarnation is healthy: it has come further than all before it, or lived long."""
        return life.committed > self.furthest or life.lived >= timeouts.healthy

    def another(self, life: Life, timeouts: Timeouts) -> "_Failures":
        """Count the end of an incarnation; if it was healthy, its failure is the first."""
        count = 1 if self.are_over(life, timeouts) else self.count + 1
        return _Failures(count=count, furthest=max(self.furthest, life.committed))


@dataclass(slots=True, kw_only=True)
class _Outage:
    """A system that somebody waits for: since when, when it was asked last, how often, and the seconds that count.

    A driver that stood still, with its machine perhaps, has not asked meanwhile: of the time between two tries only so
    much counts as one can take.
    """

    since: float
    asked: float
    tries: int = 0
    waited: float = 0.0

    def ask(self, now: float) -> None:
        self.waited += min(now - self.asked, _LONGEST_TRY)
        self.asked = now
        self.tries += 1


class RetryTracker:
    """Counts failures in a row of each processor, and how long a system has been away. Used by one thread."""

    def __init__(self, timeouts: Timeouts, clock: Callable[[], float]) -> None:
        self.incidents: tuple[str, ...] = ()
        """The newest failures and outages that the run has recovered from, or still may, each a line."""
        self.incident_count = 0
        """The number of all of them."""
        self._timeouts = timeouts
        self._clock = clock
        self._failures: dict[str, _Failures] = {}
        self._outages: dict[str, _Outage] = {}

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for a system."""
        return bool(self._outages)

    def note_failure(self, end: End) -> float:
        """Count the failure of an incarnation; return the backoff before the next one starts.

        A side input that has changed is no failure of the processor: it is waited for, as for a system that is away.

        Raises:
            ProcessorFailed: it was one too many, or side inputs have not been whole for too long.
            SystemAway: a system has been away for too long.
            RuntimeFailure, StreamSystemError: it is permanent.
        """
        previous = self._failures.get(end.processor, _Failures())
        failures = previous.another(end.life, self._timeouts)
        if isinstance(end.error, (*OUTAGES, SideInputChanged)):
            self.note_life(end.processor, end.life)
            self._failures[end.processor] = _Failures(count=previous.count, furthest=failures.furthest)
            return self.note_outage(_start(end.processor), end.error)
        self._failures[end.processor] = failures
        return self._backoff(end.processor, end.error)

    def note_life(self, processor: str, life: Life) -> None:
        """Note how far a processor has come: once it is healthy, it waits for no system any more."""
        waiting = _start(processor)
        if waiting in self._outages and self._failures[processor].are_over(life, self._timeouts):
            self.end_outage(waiting)

    def note_fence_failure(self, processor: str, error: BaseException) -> float:
        """Count a failed attempt to fence a processor; return the backoff before the next one.

        Raises: see `note_failure`, and `note_outage`.
        """
        if isinstance(error, OUTAGES):
            return self.note_outage(_name(processor), error)
        failures = self._failures.get(processor, _Failures())
        self._failures[processor] = _Failures(count=failures.count + 1, furthest=failures.furthest)
        return self._backoff(processor, error)

    def note_outage(self, waiting: str, error: BaseException) -> float:
        """Note that somebody waits for a system, or for a file to be whole; return the backoff before the next try.

        Raises:
            SystemAway: it has been away for too long.
            ProcessorFailed: so long was the file not whole.
        """
        now, outage = self._clock(), self._outages.get(waiting)
        if outage is None:
            self._add_incident(f"{waiting} waits for up to {self._timeouts.away:g} s: {error}")
            outage = self._outages[waiting] = _Outage(since=now, asked=now)
        outage.ask(now)
        if outage.waited >= self._timeouts.away:
            failure = SystemAway if isinstance(error, OUTAGES) else ProcessorFailed
            raise failure(f"{waiting} has waited for {outage.waited:.0f} s in vain: {error}") from error
        return self._timeouts.backoff(outage.tries + 1)

    def end_outage(self, waiting: str) -> None:
        """Note that somebody waits no longer."""
        if (outage := self._outages.pop(waiting, None)) is not None:
            self._add_incident(f"{waiting} continues after a wait of {self._clock() - outage.since:.0f} s")

    def note_fenced(self, processor: str) -> None:
        """Note that a processor could be fenced."""
        self.end_outage(_name(processor))

    def forget(self, processors: Collection[str]) -> None:
        """Drop the failures of these processors, whose next incarnations have other tasks."""
        for processor in processors:
            self._failures.pop(processor, None)
            self._outages.pop(_name(processor), None)
            self.end_outage(_start(processor))

    def _backoff(self, processor: str, error: BaseException | None) -> float:
        if isinstance(error, FAILURES) and not isinstance(error, TRANSIENT):
            raise error
        reason = str(error)
        if not isinstance(error, TRANSIENT):
            _LOGGER.error("a defect in processor %s", processor, exc_info=error)
            reason = f"{type(error).__name__}: {error}"
        count = self._failures[processor].count
        if count >= self._timeouts.failures:
            raise ProcessorFailed(
                f"processor {processor} failed {count} times in a row without progress; the last time: {reason}"
            ) from error
        self._add_incident(f"processor {processor} is restarted: {reason}")
        return self._timeouts.backoff(count)

    def _add_incident(self, incident: str) -> None:
        self.incidents = (*self.incidents, incident)[-_MOST_INCIDENTS:]
        self.incident_count += 1


def retry_until_back(
    call: Callable[[], object],
    timeouts: Timeouts,
    clock: Clock,
) -> None:
    """Make the driver's last call, again and again while a system is away.

    Raises:
        SystemAway: it has been away for too long.
    """
    tracker, logged = RetryTracker(timeouts, clock.monotonic), 0
    while True:
        try:
            call()
        except OUTAGES as error:
            backoff = tracker.note_outage("the driver", error)
        else:
            return
        new = tracker.incident_count - logged
        for incident in tracker.incidents[-new:] if new else ():
            _LOGGER.warning("%s", incident)
        logged = tracker.incident_count
        clock.sleep(backoff)


def _name(processor: str) -> str:
    return f"processor {processor}"


def _start(processor: str) -> str:
    return f"the start of processor {processor}"
