"""The driver's end of the channel: the latest report of every processor, and the command that answers it."""

import threading
from collections.abc import Callable, Collection, Mapping

import msgspec

from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport


class ReportRegistry:
    """The current incarnation of each processor and the latest reports; all other incarnations are answered STOP.

    Used by any thread.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take a clock of monotonic seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._current: dict[str, Incarnation] = {}
        self._reported_at: dict[str, float] = {}
        self._draining: set[str] = set()
        self._latest: dict[str, ProcessorReport] = {}
        self._shown: dict[str, ProcessorReport] = {}

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`."""
        processor = report.incarnation.processor
        with self._lock:
            if self._current.get(processor) != report.incarnation:
                return Command.STOP
            self._reported_at[processor] = self._clock()
            self._latest[processor] = report
            previous = self._shown.get(processor)
            if report.opened or previous is None:
                self._shown[processor] = report
            else:
                self._shown[processor] = msgspec.structs.replace(previous, states=report.states)
            return Command.DRAIN if processor in self._draining else Command.RUN

    def register(self, incarnation: Incarnation) -> None:
        """Make an incarnation the current one of its processor."""
        processor = incarnation.processor
        with self._lock:
            self._current[processor] = incarnation
            self._draining.discard(processor)
            self._latest.pop(processor, None)
            self._reported_at.pop(processor, None)

    def deregister(self, processor: str) -> None:
        """Leave a processor without a current incarnation."""
        with self._lock:
            self._current.pop(processor, None)

    def drain(self, processors: Collection[str]) -> None:
        """Ask the current incarnations of these processors for a last commit."""
        with self._lock:
            self._draining.update(processors)

    def forget(self, processors: Collection[str]) -> None:
        """Drop the shown reports of these processors: others do their work from here on."""
        with self._lock:
            for processor in processors:
                self._shown.pop(processor, None)

    def reported_at(self, processor: str) -> float | None:
        """Return when the current incarnation last reported; None if it never has."""
        with self._lock:
            return self._reported_at.get(processor)

    def latest(self, processor: str) -> ProcessorReport | None:
        """Return the latest report of the current incarnation, or of the last one."""
        with self._lock:
            return self._latest.get(processor)

    def reports(self) -> Mapping[str, ProcessorReport]:
        """Return what each processor was last known to have done, also while its next incarnation opens the tasks."""
        with self._lock:
            return dict(self._shown)
