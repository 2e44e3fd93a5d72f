"""The living incarnations of processors: started, drained, and declared dead when they are silent."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.threads import Threads

_SUSPECT_SECONDS = 2.0
"""Seconds between the discovery that a processor is silent and its death.

A driver that has stood still itself, with its machine perhaps, has got no reports from anybody.
"""

MakeConfig = Callable[[PlannedRun, Incarnation], ProcessorConfig]
"""Makes the configuration of an incarnation under a job model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The life of an incarnation: how far it has come (the offsets it has committed, added up), and its seconds."""

    committed: int
    lived: float


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of an incarnation with its last report, or else the error that ended it, and its life until then."""

    processor: str
    report: ProcessorReport | None
    error: BaseException | None
    life: Life


@dataclass(frozen=True, slots=True, kw_only=True)
class _Living:
    incarnation: Incarnation
    future: Future[ProcessorReport]
    started: float


class Fleet:
    """Starts incarnations on a host, and reports their ends. Used by one thread.

    An incarnation that was declared dead is not the current one any more: if it still reports, the answer is STOP.
    """

    def __init__(
        self,
        host: ProcessorHost,
        registry: ReportRegistry,
        config: MakeConfig,
        *,
        epoch: int,
        clock: Callable[[], float],
        timeouts: Timeouts,
        threads: Threads,
    ) -> None:
        self._host = host
        self._registry = registry
        self._config = config
        self._epoch = epoch
        self._clock = clock
        self._timeouts = timeouts
        self._threads = threads
        self._numbers = itertools.count(1)
        self._living: dict[str, _Living] = {}
        self._drained_at: dict[str, float] = {}
        self._suspected_at: dict[str, float] = {}
        """Since when processors have been silent for too long, as the driver sees it."""
        self._declared_dead: list[Future[ProcessorReport]] = []

    @property
    def living(self) -> Mapping[str, Incarnation]:
        """The current incarnations, by processor."""
        return {processor: living.incarnation for processor, living in self._living.items()}

    @property
    def futures(self) -> Sequence[Future[ProcessorReport]]:
        """The futures of the living incarnations: each is done when its incarnation ends."""
        return [living.future for living in self._living.values()]

    def start(self, processor: str, run: PlannedRun) -> None:
        """Start the next incarnation of a processor, which has none."""
        incarnation = Incarnation(
            processor=processor, epoch=self._epoch, version=run.model.version, number=next(self._numbers)
        )
        self._registry.register(incarnation)
        try:
            future = self._host.start(self._config(run, incarnation))
        except OSError as error:
            future = Future()
            future.set_exception(ProcessorLost(f"it can't be started: {error}"))
        self._living[processor] = _Living(incarnation=incarnation, future=future, started=self._clock())

    def drain(self, processors: Collection[str]) -> None:
        """Ask processors for a last commit; those that are too late, or have never reported, are declared dead."""
        self._registry.drain(processors)
        for processor in processors:
            self._drained_at.setdefault(processor, self._clock())

    def forget(self, processors: Collection[str]) -> None:
        """Drop what these processors have reported: others do their work from here on."""
        self._registry.forget(processors)

    def lives(self) -> Iterator[tuple[str, Life]]:
        """Yield each processor that has a living incarnation, with its life until now."""
        return ((processor, self._life(processor, living)) for processor, living in self._living.items())

    def poll(self) -> Sequence[End]:
        """Return the incarnations that have ended since the last poll; silent ones are declared dead."""
        return [end for processor in sorted(self._living) if (end := self._end(processor)) is not None]

    def stop(self, seconds: float) -> None:
        """Stop all at once, without a commit, and wait so long for them to end."""
        for processor in self._living:
            self._registry.deregister(processor)
        self._threads.wait([*self.futures, *self._declared_dead], seconds)

    def _end(self, processor: str) -> End | None:
        living, now = self._living[processor], self._clock()
        if living.future.done():
            error = living.future.exception()
            report = living.future.result() if error is None else None
            if report is not None:
                self._registry.report(report)
            return self._remove(processor, report, error)
        late = processor in self._drained_at and (
            self._registry.reported_at(processor) is None or now - self._drained_at[processor] > self._timeouts.drain
        )
        if late or self._is_dead(processor, now):
            why = f"it did not end within {self._timeouts.drain:g} s" if late else "it does not report"
            self._host.cancel(living.incarnation)
            self._declared_dead.append(living.future)
            return self._remove(processor, None, ProcessorLost(why))
        return None

    def _is_dead(self, processor: str, now: float) -> bool:
        living = self._living[processor]
        if not self._timeouts.is_silent(now, living.started, self._registry.reported_at(processor)):
            self._suspected_at.pop(processor, None)
            return False
        return now - self._suspected_at.setdefault(processor, now) >= _SUSPECT_SECONDS

    def _remove(self, processor: str, report: ProcessorReport | None, error: BaseException | None) -> End:
        living = self._living.pop(processor)
        self._drained_at.pop(processor, None)
        self._suspected_at.pop(processor, None)
        self._registry.deregister(processor)
        return End(processor=processor, report=report, error=error, life=self._life(processor, living))

    def _life(self, processor: str, living: _Living) -> Life:
        latest = self._registry.latest(processor)
        return Life(committed=0 if latest is None else _progress(latest), lived=self._clock() - living.started)


def _progress(report: ProcessorReport) -> int:
    """Return the progress of a processor: a number that grows with what it has read and committed."""
    return sum(offset for partitions in report.committed.values() for offset in partitions.values())
