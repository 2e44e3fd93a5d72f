"""The living incarnations of processors: started, heard of, drained, and given up when they are silent."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass

from streamapp_runtime.driver.prepare import PreparedRun
from streamapp_runtime.driver.processor_decisions import Timeouts
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport

_DOUBT_SECONDS = 2.0
"""A driver that has stood still itself, with its machine perhaps, has heard of nobody: it looks again after so long."""

MakeConfig = Callable[[PreparedRun, Incarnation], ProcessorConfig]
"""Makes the configuration of an incarnation under a job model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of an incarnation: with its last report, or else with the error that ended it.

    `committed` is how far it had come, `lived` for how many seconds.
    """

    processor: str
    report: ProcessorReport | None
    error: BaseException | None
    committed: int
    lived: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Living:
    incarnation: Incarnation
    future: Future[ProcessorReport]
    started: float


class Fleet:
    """Starts incarnations on a host, and tells how they end. Used by one thread.

    An incarnation that was given up is not the current one any more: it is told to stop, if it still hears anything.
    """

    def __init__(
        self,
        host: ProcessorHost,
        board: ReportRegistry,
        config: MakeConfig,
        *,
        epoch: int,
        clock: Callable[[], float],
        patience: Timeouts,
    ) -> None:
        self._host = host
        self._board = board
        self._config = config
        self._epoch = epoch
        self._clock = clock
        self._patience = patience
        self._numbers = itertools.count(1)
        self._living: dict[str, _Living] = {}
        self._drained: dict[str, float] = {}
        self._doubted: dict[str, float] = {}
        """Since when processors have been silent for too long, as the driver sees it."""
        self._given_up: list[Future[ProcessorReport]] = []

    @property
    def living(self) -> Mapping[str, Incarnation]:
        """The current incarnations, by processor."""
        return {processor: living.incarnation for processor, living in self._living.items()}

    @property
    def futures(self) -> Sequence[Future[ProcessorReport]]:
        """What is done when a living incarnation ends."""
        return [living.future for living in self._living.values()]

    def start(self, processor: str, prepared: PreparedRun) -> None:
        """Start the next incarnation of a processor, which has none."""
        incarnation = Incarnation(
            processor=processor, epoch=self._epoch, version=prepared.model.version, number=next(self._numbers)
        )
        self._board.expect(incarnation)
        try:
            future = self._host.start(self._config(prepared, incarnation))
        except OSError as error:
            future = Future()
            future.set_exception(ProcessorLost(f"it can't be started: {error}"))
        self._living[processor] = _Living(incarnation=incarnation, future=future, started=self._clock())

    def drain(self, processors: Collection[str]) -> None:
        """Ask processors for a last commit; those that don't make it in time, or were never heard of, are given up."""
        self._board.drain(processors)
        for processor in processors:
            self._drained.setdefault(processor, self._clock())

    def forget(self, processors: Collection[str]) -> None:
        """Show what these processors have done no more: others do their work from here on."""
        self._board.forget(processors)

    def poll(self) -> Sequence[End]:
        """Give the incarnations that have ended since, and give up the silent ones."""
        return [end for processor in sorted(self._living) if (end := self._end(processor)) is not None]

    def stop(self, seconds: float) -> None:
        """Tell all to stop at once, and wait so long for those that hear it."""
        for processor in self._living:
            self._board.dismiss(processor)
        wait([*self.futures, *self._given_up], seconds)

    def _end(self, processor: str) -> End | None:
        living, now = self._living[processor], self._clock()
        if living.future.done():
            error = living.future.exception()
            report = living.future.result() if error is None else None
            if report is not None:
                self._board.report(report)
            return self._buried(processor, report, error)
        late = processor in self._drained and (
            self._board.heard(processor) is None or now - self._drained[processor] > self._patience.drain
        )
        if late or self._is_silent(processor, now):
            why = f"it did not end within {self._patience.drain:g} s" if late else "it does not report"
            self._host.cancel(living.incarnation)
            self._given_up.append(living.future)
            return self._buried(processor, None, ProcessorLost(why))
        return None

    def _is_silent(self, processor: str, now: float) -> bool:
        if not self._patience.is_silent(now, self._living[processor].started, self._board.heard(processor)):
            self._doubted.pop(processor, None)
            return False
        return now - self._doubted.setdefault(processor, now) >= _DOUBT_SECONDS

    def _buried(self, processor: str, report: ProcessorReport | None, error: BaseException | None) -> End:
        living = self._living.pop(processor)
        self._drained.pop(processor, None)
        self._doubted.pop(processor, None)
        self._board.dismiss(processor)
        newest = self._board.newest(processor)
        return End(
            processor=processor,
            report=report,
            error=error,
            committed=0 if newest is None else _progress(newest),
            lived=self._clock() - living.started,
        )


def _progress(report: ProcessorReport) -> int:
    """Tell how far a processor has come: a number that grows with what it has read and committed."""
    return sum(offset for partitions in report.committed.values() for offset in partitions.values())
