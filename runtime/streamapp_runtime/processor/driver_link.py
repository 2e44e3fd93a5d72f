"""A processor's line to its driver: reports go out whatever the processor is doing, and commands wait to be looked at.

A thread of its own reports, so that a long restore or commit is not taken for death, and a driver that hangs does not
hold the data up.
"""

import threading
from collections.abc import Callable

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, DriverChannel, NoAnswer
from streamapp_runtime.processor.processor_report import ProcessorReport

REPORT_SECONDS = 0.5
TIMEOUT_SECONDS = 10.0
"""How long a driver may be silent; then it has given this processor up."""
_UNANSWERED = 3
"""Reports without an answer that it takes, too: a machine that stood still for long has lost but one."""


class DriverLink:
    """Sends the newest report twice a second until closed. The processor's thread tells, asks and closes."""

    def __init__(
        self,
        channel: DriverChannel,
        first: ProcessorReport,
        clock: Callable[[], float],
        *,
        every: float = REPORT_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """Begin at once, with the first report; `clock` tells monotonic seconds."""
        self._channel = channel
        self._newest = first
        self._clock = clock
        self._every = every
        self._timeout = timeout
        self._answered = clock()
        self._unanswered = 0
        self._command = Command.RUN
        self._lost: DriverLost | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._report_until_closed, name="driver-link", daemon=True)
        self._thread.start()

    def set_report(self, report: ProcessorReport) -> None:
        """Make this the report that goes out next."""
        self._newest = report

    def command(self) -> Command:
        """Tell what the driver wants: to go on, or to drain.

        Raises:
            DriverLost: the driver said stop, is gone, or has been silent for too long.
        """
        if self._lost is not None:
            raise self._lost
        return self._command

    def confirm_current(self) -> None:
        """Ask the driver now, and go on only when it has answered that this incarnation is the current one.

        Raises:
            DriverLost: it is not, or the driver does not answer.
        """
        while not self._send_report() and self._lost is None:
            self._closing.wait(self._every)
        self.command()

    def close(self) -> None:
        """Send no more reports."""
        self._closing.set()
        self._thread.join()

    def _report_until_closed(self) -> None:
        while not self._closing.is_set() and self._lost is None:
            self._send_report()
            self._closing.wait(self._every)

    def _send_report(self) -> bool:
        """Report once; True if the driver answered."""
        try:
            command = self._channel.report(self._newest)
        except NoAnswer as silence:
            self._unanswered += 1
            if self._unanswered >= _UNANSWERED and self._clock() - self._answered > self._timeout:
                self._lost = DriverLost(f"the driver has not answered for {self._timeout:g} s: {silence}")
            return False
        except DriverLost as lost:
            self._lost = lost
            return False
        self._answered, self._unanswered = self._clock(), 0
        if command is Command.STOP:
            self._lost = DriverLost("the driver said stop: the run ends, or another incarnation has taken over")
        elif command is Command.DRAIN:
            self._command = command
        return True
