"""The progress of restores, reported to the driver meanwhile."""

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.driver_link import DriverLink
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport, StateReport
from streamapp_runtime.state.changelog_restore import RestoreStatus


class RestoreReporter:
    """The progress of the restore of each task's state."""

    def __init__(self, incarnation: Incarnation, link: DriverLink) -> None:
        """Report over a link to the driver."""
        self._incarnation = incarnation
        self._link = link
        self.states: dict[str, StateReport] = {}
        """The restore of each task so far."""

    def report(self, task: str, status: RestoreStatus) -> None:
        """Report how far the state of a task is restored.

        Raises:
            DriverLost: the driver is gone, or drains this processor: there is nothing to commit yet.
        """
        self.states[task] = StateReport(kept=status.kept, records=status.records, left=status.left)
        self._link.set_report(ProcessorReport(incarnation=self._incarnation, states=dict(self.states)))
        if self._link.command() is not Command.RUN:
            raise DriverLost("drained before it had begun")
