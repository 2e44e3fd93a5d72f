"""The channel between a processor and its driver: reports one way, commands the other."""

from enum import StrEnum
from typing import Protocol

from streamapp_runtime.processor.processor_report import ProcessorReport


class Command(StrEnum):
    """What the driver wants of a processor: go on, commit and end, or end at once."""

    RUN = "run"
    DRAIN = "drain"
    STOP = "stop"


class DriverChannel(Protocol):
    """The processor's end of the channel. Used by several threads."""

    def report(self, report: ProcessorReport) -> Command:
        """Tell the driver how far the processor is, and hear what to do.

        Raises:
            NoAnswer: the driver did not answer in time; ask again.
            DriverLost: the driver is gone, or does not know this processor.
        """
        ...


class NoAnswer(Exception):  # noqa: N818 - what happened
    """The driver did not answer this time."""
