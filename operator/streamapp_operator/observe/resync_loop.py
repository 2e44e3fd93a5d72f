"""The resync loop: the informer's cache is compared with the API server from time to time."""

import threading
from collections.abc import Callable

import structlog

from streamapp_operator.observe.informer import Informer
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_log = structlog.get_logger()
_FIRST_RESYNC = 15.0
_CATCH_UP_SECONDS = 3.0


class ResyncLoop:
    """Resyncs an informer at an interval, and counts what its watches missed."""

    def __init__(
        self,
        informer: Informer,
        count_missed: Callable[[int], object],
        *,
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        """Create a loop that does not run yet.

        Args:
            informer: the informer of the cache.
            count_missed: called with the number of objects whose changes the watches had missed, if there are any.
            interval: the seconds between two resyncs.
            clock: seconds that never go back.
        """
        self.interval = interval
        self.missed_in_a_row = 0
        self._informer = informer
        self._count_missed = count_missed
        self._clock = clock
        self._stopped = threading.Event()
        self._resynced_at = clock()

    def run(self) -> None:
        """Resync until stopped."""
        wait = min(_FIRST_RESYNC, self.interval)
        while not self._stopped.wait(wait):
            wait = self.interval
            self.resync()

    def stop(self) -> None:
        """Stop resyncing."""
        self._stopped.set()

    def resync(self) -> None:
        """Resync once; an API server that does not answer is no failure of this process."""
        try:
            missed = self._informer.resync(lambda: self._stopped.wait(_CATCH_UP_SECONDS))
        except KubernetesError as error:
            _log.warning("the cache can't be resynced with the API server", error=str(error))
            missed = 0
        if missed:
            _log.warning("the watches had missed changes", objects=missed)
            self._count_missed(missed)
        self.missed_in_a_row = self.missed_in_a_row + 1 if missed else 0
        self._resynced_at = self._clock()

    def measure_silence(self) -> float:
        """Return the seconds since the last resync."""
        return self._clock() - self._resynced_at
