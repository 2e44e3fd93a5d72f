"""The health of the Kubernetes operator: whether its cache equals the cluster, and its queue moves."""

import threading
from collections.abc import Callable

import structlog

from streamapp_operator.observe.informer import Informer
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_log = structlog.get_logger()
_FIRST_RESYNC = 15.0
_CATCH_UP_SECONDS = 3.0
_LONGEST_LAG = 180.0
_MAXIMUM_MISSED_IN_A_ROW = 2


class OperatorHealth:
    """Resyncs the cache with the API server from time to time, and finds failures of the process by it."""

    def __init__(
        self,
        informer: Informer,
        metrics: OperatorMetrics,
        measure_lag: Callable[[], float],
        *,
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        self._informer = informer
        self._metrics = metrics
        self._measure_lag = measure_lag
        self._interval = interval
        self._clock = clock
        self._stopped = threading.Event()
        self._resynced_at = clock()
        self._missed_in_a_row = 0

    def run(self) -> None:
        """Resync until stopped."""
        wait = min(_FIRST_RESYNC, self._interval)
        while not self._stopped.wait(wait):
            wait = self._interval
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
            self._metrics.missed_objects.inc(missed)
        self._missed_in_a_row = self._missed_in_a_row + 1 if missed else 0
        self._resynced_at = self._clock()

    def find_failure(self) -> str | None:
        """Return why the process makes no progress; None: it does."""
        lag = self._measure_lag()
        if lag > _LONGEST_LAG:
            return f"an app has been waiting for {lag:.0f} s"
        if self._missed_in_a_row > _MAXIMUM_MISSED_IN_A_ROW:
            return f"the watches have missed changes {self._missed_in_a_row} times in a row"
        silence = self._clock() - self._resynced_at
        if silence > 3 * self._interval + _LONGEST_LAG:
            return f"the cache has not been resynced with the API server for {silence:.0f} s"
        return None
