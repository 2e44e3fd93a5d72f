"""Whether the process makes progress: not that it lives, but that its caches are true and its queue moves."""

import threading
from collections.abc import Callable

import structlog

from streamapp_operator.observe.informer import Informer
from streamapp_operator.process.operator_metrics import Metrics
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_log = structlog.get_logger()
_FIRST_COMPARISON = 15.0
_CATCH_UP_SECONDS = 3.0
_LONGEST_LAG = 180.0
_MISSED_IN_A_ROW = 2


class Health:
    """Compares the caches with the API server from time to time, heals them, and judges the process by it."""

    def __init__(
        self,
        watching: Informer,
        metrics: Metrics,
        lag: Callable[[], float],
        *,
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        self._watching = watching
        self._metrics = metrics
        self._lag = lag
        self._interval = interval
        self._clock = clock
        self._stopped = threading.Event()
        self._compared_at = clock()
        self._missed_in_a_row = 0

    def run(self) -> None:
        """Compare until stopped."""
        wait = min(_FIRST_COMPARISON, self._interval)
        while not self._stopped.wait(wait):
            wait = self._interval
            self.compare()

    def stop(self) -> None:
        """Compare no more."""
        self._stopped.set()

    def compare(self) -> None:
        """Compare once; an API server that does not answer is no fault of ours."""
        try:
            missed = self._watching.compare(lambda: self._stopped.wait(_CATCH_UP_SECONDS))
        except KubernetesError as error:
            _log.warning("the caches can't be compared with the API server", error=str(error))
            missed = 0
        if missed:
            _log.warning("the watches had missed changes", objects=missed)
            self._metrics.healed.inc(missed)
        self._missed_in_a_row = self._missed_in_a_row + 1 if missed else 0
        self._compared_at = self._clock()

    def wrong(self) -> str | None:
        """Tell what is wrong; None: nothing."""
        lag = self._lag()
        if lag > _LONGEST_LAG:
            return f"an app has been waiting for {lag:.0f} s"
        if self._missed_in_a_row > _MISSED_IN_A_ROW:
            return f"the watches have missed changes {self._missed_in_a_row} times in a row"
        silence = self._clock() - self._compared_at
        if silence > 3 * self._interval + _LONGEST_LAG:
            return f"the caches have not been compared with the API server for {silence:.0f} s"
        return None
