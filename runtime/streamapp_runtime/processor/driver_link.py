"""The heartbeat of a processor: a thread that sends its newest report to the driver, and keeps the driver's command.

A thread of its own, so that a processor in a long restore or commit is not declared dead, and a driver that hangs does
not delay the data.
"""

from collections.abc import Callable

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, DriverChannel, NoAnswer
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_runtime.threads import Threads

REPORT_SECONDS = 0.5
TIMEOUT_SECONDS = 10.0
"""The longest time without an answer; after it the driver has declared this processor dead."""
_UNANSWERED = 3
"""The number of unanswered reports needed, too: after a pause of the whole machine only one is unanswered."""


class DriverLink:
    """The link to the driver. Its methods are called by the processor's thread; its own thread reports until closed."""

    def __init__(
        self,
        channel: DriverChannel,
        first: ProcessorReport,
        clock: Callable[[], float],
        threads: Threads,
        *,
        every: float = REPORT_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """Start to report at once, with the first report, every so many seconds; `clock` counts monotonic seconds."""
        self._channel = channel
        self._newest = first
        self._clock = clock
        self._every = every
        self._timeout = timeout
        self._answered = clock()
        self._unanswered = 0
        self._command = Command.RUN
        self._lost: DriverLost | None = None
        self._threads = threads
        self._closing = threads.event()
        self._reporting = threads.start("driver-link", self._report_until_closed)

    def set_report(self, report: ProcessorReport) -> None:
        """Set the report that is sent next."""
        self._newest = report

    def command(self) -> Command:
        """Return the last command of the driver: to run or to drain.

        Raises:
            DriverLost: the driver stopped this processor, is gone, or has not answered for too long.
        """
        if self._lost is not None:
            raise self._lost
        return self._command

    def confirm_current(self) -> None:
        """Return when the driver has answered that this incarnation is the current one.

        Raises:
            DriverLost: it is not, or the driver does not answer.
        """
        while not self._send_report() and self._lost is None:
            self._closing.wait(self._every)
        self.command()

    def close(self) -> None:
        """Stop reporting."""
        self._closing.set()
        self._threads.wait([self._reporting], None)

    def _report_until_closed(self) -> None:
        while not self._closing.is_set() and self._lost is None:
            self._send_report()
            self._closing.wait(self._every)

    def _send_report(self) -> bool:
        """Send the newest report; return whether the driver answered."""
        try:
            command = self._channel.report(self._newest)
        except NoAnswer as error:
            self._unanswered += 1
            if self._unanswered >= _UNANSWERED and self._clock() - self._answered > self._timeout:
                self._lost = DriverLost(f"the driver has not answered for {self._timeout:g} s: {error}")
            return False
        except DriverLost as lost:
            self._lost = lost
            return False
        self._answered, self._unanswered = self._clock(), 0
        if command is Command.STOP:
            self._lost = DriverLost(
                "the driver stopped this processor: the run ends, or another incarnation has taken over"
            )
        elif command is Command.DRAIN:
            self._command = command
        return True
