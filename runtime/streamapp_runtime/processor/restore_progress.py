"""How the tasks of a processor come to their state: the driver hears of it while it goes on."""

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.driver_link import DriverLink
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport, StateReport
from streamapp_runtime.state.task_state import RestoreStatus


class RestoreProgress:
    """Takes down how far each task's store is, and has it reported."""

    def __init__(self, incarnation: Incarnation, link: DriverLink) -> None:
        """Take the line to the driver."""
        self._incarnation = incarnation
        self._link = link
        self.states: dict[str, StateReport] = {}
        """How each task that was opened came to its state."""

    def report(self, task: str, status: RestoreStatus) -> None:
        """Hear how far a task's store is.

        Raises:
            DriverLost: the driver is gone, or wants no more of this processor: there is nothing to commit yet.
        """
        self.states[task] = StateReport(kept=status.kept, records=status.records, left=status.left)
        self._link.set_report(ProcessorReport(incarnation=self._incarnation, states=dict(self.states)))
        if self._link.command() is not Command.RUN:
            raise DriverLost("drained before it had begun")
