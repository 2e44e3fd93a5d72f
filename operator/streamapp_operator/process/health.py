"""The health of the Kubernetes operator: whether its cache equals the cluster, and its queue moves."""

from collections.abc import Callable

from streamapp_operator.observe.resync_loop import ResyncLoop

_LONGEST_STALL = 180.0
_MAXIMUM_MISSED_IN_A_ROW = 2


class OperatorHealth:
    """Finds failures of the process by the stalls of its queue and the resyncs of its cache."""

    def __init__(self, resyncs: ResyncLoop, measure_stall: Callable[[], float]) -> None:
        self._resyncs = resyncs
        self._measure_stall = measure_stall

    def find_failure(self) -> str | None:
        """Return why the process makes no progress; None: it does."""
        stall = self._measure_stall()
        if stall > _LONGEST_STALL:
            return f"the queue has not moved for {stall:.0f} s"
        if self._resyncs.missed_in_a_row > _MAXIMUM_MISSED_IN_A_ROW:
            return f"the watches have missed changes {self._resyncs.missed_in_a_row} times in a row"
        silence = self._resyncs.measure_silence()
        if silence > 3 * self._resyncs.interval + _LONGEST_STALL:
            return f"the cache has not been resynced with the API server for {silence:.0f} s"
        return None
