"""The channel between a processor and its driver: reports one way, commands the other."""

from enum import StrEnum
from typing import Protocol

from streamapp_runtime.processor.reports import ProcessorReport


class Command(StrEnum):
    """What the driver wants of a processor: go on, commit and stop, or stop at once."""

    RUN = "run"
    DRAIN = "drain"
    STOP = "stop"


class DriverChannel(Protocol):
    """The processor's end of the channel."""

    def report(self, report: ProcessorReport) -> Command:
        """Tell the driver how far the processor is, and hear what to do.

        Raises:
            DriverLost: the driver did not answer for so long that the processor must stop.
        """
        ...


class DriverLost(Exception):  # noqa: N818 - what happened
    """The driver is gone or has forgotten this processor: stop without another commit."""
