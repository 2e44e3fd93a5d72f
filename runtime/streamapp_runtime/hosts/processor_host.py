"""What the driver asks of a host."""

from concurrent.futures import Future
from typing import Protocol

from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport


class ProcessorHost(Protocol):
    """Starts processors somewhere. One processor that fails leaves the others alone."""

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """Start an incarnation of a processor.

        The future ends with its last report, or with the exception it died of: one of `FAILURES` where a person must
        look after it, else one of `TRANSIENT`, or any other for a defect.
        """
        ...

    def cancel(self, incarnation: Incarnation) -> None:
        """Make an end of an incarnation that the driver has given up, as far as that can be done; returns at once."""
        ...

    def close(self) -> None:
        """End what still runs and release what the host holds."""
        ...
