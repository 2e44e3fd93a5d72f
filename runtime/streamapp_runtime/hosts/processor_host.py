"""The interface between the driver and what runs its processors."""

from concurrent.futures import Future
from typing import Protocol

from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport


class ProcessorHost(Protocol):
    """A place where processors run. One that fails does not disturb the others."""

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """Start an incarnation of a processor.

        The future ends with its last report, or with the exception it died of: one of `FAILURES` if a restart does not
        mend it, one of `TRANSIENT` if it may, or any other for a defect.
        """
        ...

    def cancel(self, incarnation: Incarnation) -> None:
        """Kill an incarnation that the driver has declared dead, as far as that is possible; return at once."""
        ...

    def close(self) -> None:
        """End the processors that still run, and release the host's resources."""
        ...
