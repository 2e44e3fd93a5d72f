"""The partition monitor: counts the partitions of streams at an interval, and replans the run when they have grown."""

import logging
from concurrent.futures import Future
from dataclasses import dataclass, replace

from streamapp_core.problems import Problem
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.plan_run import PlannedRun, follow_streams
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_systems.protocols import StreamSystemError

_LOGGER = logging.getLogger("streamapp.driver")
_SECOND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedGrowth:
    """Streams have grown: the run to change to. Its job model has a higher version and is not active yet."""

    run: PlannedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChange:
    """Streams have changed in a way that this run can't follow: it stays as it is. No problems: that is mended."""

    problems: tuple[Problem, ...]


class PartitionMonitor:
    """Counts the partitions of a run's streams: one request per system and interval, in a thread of its own.

    Streams that grew since the last count are planned together (docs/expansion.md).
    """

    def __init__(self, text: str, context: ExecutionContext, run: PlannedRun, now: float) -> None:
        """Take the app's YAML; `now` is in seconds, as in `poll`."""
        monitor = run.plan.app.spec.job.partition_monitor
        self._parsed = parse_text(text)
        self._context = context
        self._interval = monitor.interval / _SECOND if monitor.enabled else None
        self._next_count = now + (self._interval or 0)
        self._replanned: Future[PlannedRun] | None = None
        self._previous = run
        self.problems = run.refused
        """Why the run does not follow its streams; none if it does."""

    @property
    def counting(self) -> bool:
        """Whether a count has begun, and no poll has returned its result yet."""
        return self._replanned is not None

    def poll(self, now: float, current: PlannedRun) -> AcceptedGrowth | RefusedChange | None:
        """Return what is new for the run that is `current`; never waits. A refusal is returned once.

        A count that fails, since a system does not answer, is made up for by the next one.
        """
        if self._interval is None:
            return None
        if self._replanned is None:
            if now >= self._next_count:
                self._next_count = now + self._interval
                self._previous = current if current.model != self._previous.model else self._previous
                self._replanned = self._context.threads.start("partition-monitor", self._replan)
            return None
        if not self._replanned.done():
            return None
        replanned, self._replanned = self._replanned, None
        return self._change(replanned, current)

    def _replan(self) -> PlannedRun:
        return follow_streams(self._parsed, self._context.systems, self._previous, self._context.clock.time_of_day())

    def _change(self, replanned: Future[PlannedRun], current: PlannedRun) -> AcceptedGrowth | RefusedChange | None:
        try:
            run = replanned.result()
        except StreamSystemError as error:
            _LOGGER.warning("the partitions of the app's streams can't be counted: %s", error)
            return None
        except PlanRefused as refused:
            return self._refusal(refused.problems)
        if current.model != self._previous.model:
            return None
        refusal = self._refusal(run.refused)
        if run.model.streams != current.model.streams:
            return AcceptedGrowth(run=run)
        self._previous = replace(self._previous, counts=run.counts, refused=run.refused)  # not to be planned again
        return refusal

    def _refusal(self, problems: tuple[Problem, ...]) -> RefusedChange | None:
        if problems == self.problems:
            return None
        self.problems = problems
        return RefusedChange(problems=problems)
