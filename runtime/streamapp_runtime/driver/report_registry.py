"""The driver's end of the channel: the newest report of every processor, and what they are told."""

import threading
from collections.abc import Callable, Collection, Mapping

import msgspec

from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport


class ReportRegistry:
    """Knows which incarnation of each processor is the current one; all others are told to stop.

    Used by any thread.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take a clock of monotonic seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._current: dict[str, Incarnation] = {}
        self._heard: dict[str, float] = {}
        self._draining: set[str] = set()
        self._newest: dict[str, ProcessorReport] = {}
        self._shown: dict[str, ProcessorReport] = {}

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`."""
        processor = report.incarnation.processor
        with self._lock:
            if self._current.get(processor) != report.incarnation:
                return Command.STOP
            self._heard[processor] = self._clock()
            self._newest[processor] = report
            former = self._shown.get(processor)
            if report.opened or former is None:
                self._shown[processor] = report
            else:
                self._shown[processor] = msgspec.structs.replace(former, states=report.states)
            return Command.DRAIN if processor in self._draining else Command.RUN

    def expect(self, incarnation: Incarnation) -> None:
        """Make an incarnation the current one of its processor."""
        processor = incarnation.processor
        with self._lock:
            self._current[processor] = incarnation
            self._draining.discard(processor)
            self._newest.pop(processor, None)
            self._heard.pop(processor, None)

    def dismiss(self, processor: str) -> None:
        """Let no incarnation of a processor be the current one."""
        with self._lock:
            self._current.pop(processor, None)

    def drain(self, processors: Collection[str]) -> None:
        """Ask the current incarnations of these processors for a last commit."""
        with self._lock:
            self._draining.update(processors)

    def forget(self, processors: Collection[str]) -> None:
        """Show what these processors have done no more: others do their work."""
        with self._lock:
            for processor in processors:
                self._shown.pop(processor, None)

    def heard(self, processor: str) -> float | None:
        """Tell when the current incarnation last reported; None if it never has."""
        with self._lock:
            return self._heard.get(processor)

    def newest(self, processor: str) -> ProcessorReport | None:
        """Give the newest report of the current incarnation, or of the last one."""
        with self._lock:
            return self._newest.get(processor)

    def reports(self) -> Mapping[str, ProcessorReport]:
        """Give what each processor was last known to have done, also while its next incarnation opens the tasks."""
        with self._lock:
            return dict(self._shown)
