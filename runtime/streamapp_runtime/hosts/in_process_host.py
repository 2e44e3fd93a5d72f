"""Processors as threads of the driver's own process: no JVM, for small data and for tests."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from streamapp_runtime.execution_context import ExecutionContext, local_context
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.run_processor import run_processor
from streamapp_runtime.threads import in_thread


class InProcessHost:
    """A host that runs each processor in a thread. They share one interpreter, so they take turns, not cores."""

    def __init__(
        self, channel: DriverChannel, context_of: Callable[[ProcessorConfig], ExecutionContext] | None = None
    ) -> None:
        """Take the channel that processors report to, and what makes their contexts; without, that of this process."""
        self._channel = channel
        self._context_of = context_of or _local_context

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`."""
        context = self._context_of(config)
        return in_thread(
            f"processor-{config.incarnation.processor}", lambda: run_processor(config, self._channel, context)
        )

    def cancel(self, incarnation: Incarnation) -> None:
        """See `ProcessorHost.cancel`: a thread can't be ended from outside, it ends when it asks the driver."""

    def close(self) -> None:
        """See `ProcessorHost.close`; threads have ended by themselves."""


def _local_context(config: ProcessorConfig) -> ExecutionContext:
    return local_context(Path(config.folder))
