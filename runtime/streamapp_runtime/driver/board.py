"""The driver's end of the channel: the newest report of every processor, and what they are told."""

import threading
from collections.abc import Mapping

from streamapp_runtime.processor.channel import Command
from streamapp_runtime.processor.reports import ProcessorReport


class Board:
    """Takes reports from any thread."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._lock = threading.Lock()
        self._reports: dict[str, ProcessorReport] = {}
        self._command = Command.RUN

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`; a processor of another epoch is told to stop."""
        with self._lock:
            if report.epoch != self._epoch:
                return Command.STOP
            self._reports[report.processor] = report
            return self._command

    def tell(self, command: Command) -> None:
        """Answer every report with this from now on."""
        with self._lock:
            self._command = command

    def reports(self) -> Mapping[str, ProcessorReport]:
        """Give the newest report of each processor."""
        with self._lock:
            return dict(self._reports)
