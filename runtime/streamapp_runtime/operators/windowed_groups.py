"""Groups in tumbling and sliding windows: their state, until their window closes."""

from collections.abc import Mapping

from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.window_assignment import WindowAssignment
from streamapp_runtime.operators.window_bounds import due_below


class WindowedGroups(BaseOperator):
    """Groups with a state for each window, ordered by the windows' ends, so that those that are due lie first."""

    def __init__(self, states: GroupStates, windows: WindowAssignment) -> None:
        self._states = states
        self._windows = windows

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._windows.watermark = watermark

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._states.has_pending_results

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._windows.counters()

    def _close(self, watermark: int, limit: int) -> list[Row]:
        """Close the windows that end at or before the watermark; return, and delete, at most so many groups of them."""
        self._windows.watermark = watermark
        return self._states.pop_below(due_below(watermark), limit)
