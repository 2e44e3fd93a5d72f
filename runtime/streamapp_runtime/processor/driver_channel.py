"""The channel between a processor and its driver: reports one way, commands the other."""

from enum import StrEnum
from typing import Protocol

from streamapp_runtime.processor.processor_report import ProcessorReport


class Command(StrEnum):
    """The driver's answer to a report: keep running, drain (commit, then end), or stop at once without a commit."""

    RUN = "run"
    DRAIN = "drain"
    STOP = "stop"


class DriverChannel(Protocol):
    """The channel from a processor to its driver, as the processor sees it. Used by several threads."""

    def report(self, report: ProcessorReport) -> Command:
        """Send a report to the driver and return its command.

        Raises:
            NoAnswer: the driver did not answer in time; report again.
            DriverLost: the driver is gone, or does not know this processor.
        """
        ...


class NoAnswer(Exception):  # noqa: N818 - what happened
    """The driver did not answer this time."""
