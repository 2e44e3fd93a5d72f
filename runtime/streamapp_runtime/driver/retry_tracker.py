"""What goes wrong in a run and is borne: how long to wait before the next try, and when there is none any more."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from streamapp_runtime.driver.fleet import End
from streamapp_runtime.driver.processor_decisions import Failures, Timeouts
from streamapp_runtime.errors import FAILURES, TRANSIENT, ProcessorFailed
from streamapp_systems.protocols import Unavailable

_LOGGER = logging.getLogger("streamapp.driver")


@dataclass(slots=True, kw_only=True)
class _Absence:
    """A system that somebody waits for: since when, and how often it was asked."""

    since: float
    tries: int = 0


class RetryTracker:
    """Counts failures in a row of each processor, and knows since when a system has been away. Used by one thread."""

    def __init__(self, patience: Timeouts, clock: Callable[[], float]) -> None:
        self.troubles: tuple[str, ...] = ()
        """What went wrong, each a line; the run went on."""
        self._patience = patience
        self._clock = clock
        self._failures: dict[str, Failures] = {}
        self._absences: dict[str, _Absence] = {}

    def lost(self, end: End) -> float:
        """Count the loss of an incarnation; tell how long to wait before the next one.

        Raises:
            ProcessorFailed: it was one too many.
            RuntimeFailure, StreamSystemError: a person must look after it.
        """
        failures = self._failures.get(end.processor, Failures())
        self._failures[end.processor] = failures.another(
            committed=end.committed, lived=end.lived, patience=self._patience
        )
        return self._pause(end.processor, end.error)

    def not_fenced(self, processor: str, error: BaseException) -> float:
        """Count an attempt to fence a processor that failed; tell how long to wait before the next one.

        Raises: see `lost`, and `away`.
        """
        if isinstance(error, Unavailable):
            return self.away(_name(processor), error)
        failures = self._failures[processor]
        self._failures[processor] = Failures(count=failures.count + 1, furthest=failures.furthest)
        return self._pause(processor, error)

    def away(self, who: str, error: Unavailable) -> float:
        """Note that somebody can't go on since a system is away; tell how long to wait before it is asked again.

        Raises:
            ProcessorFailed: it has been away for too long.
        """
        now, absence = self._clock(), self._absences.get(who)
        if absence is None:
            self._tell(f"{who} waits for up to {self._patience.away:g} s: {error}")
            absence = self._absences[who] = _Absence(since=now)
        waited = now - absence.since
        if waited >= self._patience.away:
            raise ProcessorFailed(f"{who} has waited for {waited:.0f} s in vain: {error}") from error
        absence.tries += 1
        return self._patience.pause(absence.tries + 1)

    def back(self, who: str) -> None:
        """Note that somebody waits no longer."""
        if (absence := self._absences.pop(who, None)) is not None:
            self._tell(f"{who} goes on after a wait of {self._clock() - absence.since:.0f} s")

    def fenced(self, processor: str) -> None:
        """Note that a processor could be fenced."""
        self.back(_name(processor))

    def forget(self, processors: Collection[str]) -> None:
        """Begin anew with these processors."""
        for processor in processors:
            self._failures.pop(processor, None)
            self._absences.pop(_name(processor), None)

    def _pause(self, processor: str, error: BaseException | None) -> float:
        if isinstance(error, FAILURES) and not isinstance(error, TRANSIENT):
            raise error
        told = str(error)
        if not isinstance(error, TRANSIENT):
            _LOGGER.error("a defect in processor %s", processor, exc_info=error)
            told = f"{type(error).__name__}: {error}"
        count = self._failures[processor].count
        if count >= self._patience.failures:
            raise ProcessorFailed(
                f"processor {processor} failed {count} times in a row and came no further; the last time: {told}"
            ) from error
        self._tell(f"processor {processor} is started again: {told}")
        return self._patience.pause(count)

    def _tell(self, trouble: str) -> None:
        self.troubles = (*self.troubles, trouble)


def until_back(
    call: Callable[[], object],
    patience: Timeouts,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Make the driver's last call, again and again while a system is away.

    Raises:
        ProcessorFailed: it has been away for too long.
    """
    setbacks, told = RetryTracker(patience, clock), 0
    while True:
        try:
            call()
        except Unavailable as error:
            pause = setbacks.away("the driver", error)
        else:
            return
        for trouble in setbacks.troubles[told:]:
            _LOGGER.warning("%s", trouble)
        told = len(setbacks.troubles)
        sleep(pause)


def _name(processor: str) -> str:
    return f"processor {processor}"
