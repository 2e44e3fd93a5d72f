"""What the driver asks of a host."""

from concurrent.futures import Future
from typing import Protocol

from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport


class ProcessorHost(Protocol):
    """Starts processors somewhere. One processor that fails leaves the others alone."""

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """Start a processor. The future ends with its last report, or with the exception it died of."""
        ...

    def close(self) -> None:
        """Release what the host holds; no processor is running any more."""
        ...
