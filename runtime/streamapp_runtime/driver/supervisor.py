"""Keeps the processors of a run at work (`docs/protocols.md`, Replacement of a processor and Handover).

What changes hands is never a task alone: a processor whose tasks change ends, and a new incarnation of it starts with
the new job model. All others go on undisturbed.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from streamapp_runtime.driver.fleet import End, Fleet
from streamapp_runtime.driver.pending_change import PendingChange
from streamapp_runtime.driver.prepare import PreparedRun
from streamapp_runtime.driver.processor_decisions import Timeouts, affected
from streamapp_runtime.driver.retry_tracker import RetryTracker
from streamapp_runtime.driver.run_authority import Authority
from streamapp_runtime.errors import FAILURES, TRANSIENT
from streamapp_runtime.fail_points import FailPoint, Moment, fail_point, reach
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_systems.protocols import Unavailable

_SHORTEST_WAIT = 0.05
_HANDOVER = "the handover"

Background = Callable[[str, Callable[[], None]], Future[None]]
"""Runs something that may take long, beside the driver's own thread."""


@dataclass(slots=True, kw_only=True)
class _Recovery:
    """A processor without a living incarnation: it is fenced (None: when it is due), then started when it is due."""

    due: float
    fence: Future[None] | None


@dataclass(slots=True, kw_only=True)
class _Handover:
    """A change of the job model under way: the affected processors leave, are fenced, and come back."""

    prepared: PreparedRun
    affected: frozenset[str]
    former: frozenset[str]
    done: Future[None]
    due: float
    fence: Future[None] | None = None
    attempts: int = 0


class Supervisor:
    """Starts the processors of a run, replaces those that die, and hands their tasks over when the job model changes.

    Used by one thread, which calls `step` a few times a second; `change` may be called by any.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        fleet: Fleet,
        authority: Authority,
        *,
        clock: Callable[[], float],
        patience: Timeouts,
        background: Background,
    ) -> None:
        self.prepared = prepared
        self._fleet = fleet
        self._authority = authority
        self._clock = clock
        self._patience = patience
        self._background = background
        self._setbacks = RetryTracker(patience, clock)
        self._recoveries: dict[str, _Recovery] = {}
        self._done: dict[str, ProcessorReport] = {}
        self._wishes = PendingChange()
        self._handover: _Handover | None = None
        self._draining = False

    @property
    def completed(self) -> bool:
        """Whether all processors have come to the end of their inputs."""
        return self._handover is None and self._done.keys() == self.prepared.model.processors.keys()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the run has completed, or all processors are drained."""
        return self.completed or (self._draining and not self._fleet.living)

    @property
    def changing(self) -> bool:
        """Whether a change of the job model is asked for or under way."""
        return self._handover is not None or self._wishes.waiting

    @property
    def troubles(self) -> tuple[str, ...]:
        """What went wrong with processors, each a line; the run went on."""
        return self._setbacks.troubles

    @property
    def reports(self) -> Mapping[str, ProcessorReport]:
        """The last reports of the processors that have come to the end of their inputs."""
        return self._done

    def start(self) -> None:
        """Start all processors."""
        for processor in sorted(self.prepared.model.processors):
            self._fleet.start(processor, self.prepared)

    def change(self, prepared: PreparedRun) -> Future[None]:
        """Ask for a new job model; the future is done when its processors have been started.

        A change that was asked for earlier and has not begun gives way to this one: its future is cancelled.
        """
        return self._wishes.add(prepared)

    def drain(self) -> None:
        """Let all processors make a last commit and end; nothing is started any more."""
        if not self._draining:
            self._draining = True
            self._recoveries.clear()
            self._fleet.drain(self._fleet.living)

    def wait(self, seconds: float) -> None:
        """Wait until there is something to do, but no longer than that."""
        asked: list[_Recovery | _Handover] = [*self._recoveries.values()]
        if self._handover is not None:
            asked.append(self._handover)
        ends: list[Future[Any]] = [one.fence for one in asked if one.fence is not None and not one.fence.done()]
        ends += self._fleet.futures
        dues = [max(one.due - self._clock(), _SHORTEST_WAIT) for one in asked]
        if ends:
            wait(ends, min([seconds, *dues]), FIRST_COMPLETED)
        else:
            time.sleep(min([seconds, *dues]))

    def step(self) -> None:
        """Look at everything once, and do what is to be done now.

        Raises:
            RuntimeFailure, StreamSystemError, JobModelOutdatedError: the run can't go on.
        """
        for end in self._fleet.poll():
            self._take_end(end)
        if not self._draining:
            for processor, recovery in list(self._recoveries.items()):
                self._recover(processor, recovery)
            self._hand_over()

    def _take_end(self, end: End) -> None:
        if end.report is not None:
            if end.report.done:
                self._done[end.processor] = end.report
            return
        assert end.error is not None
        if isinstance(end.error, FAILURES) and not isinstance(end.error, TRANSIENT):
            raise end.error
        leaving = self._handover is not None and end.processor in self._handover.affected
        if not self._draining and not leaving:
            self._replace(end)

    def _replace(self, end: End) -> None:
        """Shut out an incarnation that was lost, and have the next one started."""
        self._recoveries[end.processor] = _Recovery(
            due=self._clock() + self._setbacks.lost(end),
            fence=self._fence(FailPoint.REPLACE_FENCE, {end.processor}),
        )

    def _recover(self, processor: str, recovery: _Recovery) -> None:
        due = self._clock() >= recovery.due
        if recovery.fence is None:
            if due:
                recovery.fence = self._fence(FailPoint.REPLACE_FENCE, {processor})
        elif recovery.fence.done():
            error = recovery.fence.exception()
            if error is not None:
                recovery.fence = None
                recovery.due = self._clock() + self._setbacks.not_fenced(processor, error)
            elif due:
                self._setbacks.fenced(processor)
                del self._recoveries[processor]
                with fail_point(FailPoint.REPLACE_START):
                    self._fleet.start(processor, self.prepared)

    def _fence(self, step: FailPoint, processors: Collection[str]) -> Future[None]:
        def fence() -> None:
            with fail_point(step):
                self._authority.fence(processors)

        return self._background("fence", fence)

    def _hand_over(self) -> None:
        if self._handover is None and (wish := self._wishes.take()) is not None:
            self._handover = self._begun(*wish)
        handover = self._handover
        if handover is None or handover.affected & self._fleet.living.keys():
            return
        if handover.fence is None:
            if self._clock() >= handover.due:
                if handover.attempts == 0:
                    reach(FailPoint.HANDOVER_DRAIN, Moment.AFTER)
                handover.fence = self._fence(FailPoint.HANDOVER_FENCE, handover.former)
        elif handover.fence.done():
            error = handover.fence.exception()
            if error is None:
                self._finish(handover)
            else:
                self._fence_again(handover, error)

    def _begun(self, prepared: PreparedRun, done: Future[None]) -> _Handover:
        """Put the new job model in force, and let those that it affects leave."""
        former = self.prepared.model
        with fail_point(FailPoint.HANDOVER_MODEL):
            self._authority.put_in_force(prepared)
        reach(FailPoint.HANDOVER_DRAIN, Moment.BEFORE)
        concerned = affected(former, prepared.model)
        for processor in concerned:
            self._recoveries.pop(processor, None)
        self._fleet.drain(concerned & self._fleet.living.keys())
        return _Handover(
            prepared=prepared,
            affected=concerned,
            former=concerned & former.processors.keys(),
            done=done,
            due=self._clock(),
        )

    def _fence_again(self, handover: _Handover, error: BaseException) -> None:
        handover.fence = None
        handover.attempts += 1
        if isinstance(error, Unavailable):
            handover.due = self._clock() + self._setbacks.away(_HANDOVER, error)
        elif not isinstance(error, TRANSIENT) or handover.attempts >= self._patience.failures:
            raise error
        else:
            handover.due = self._clock() + self._patience.pause(handover.attempts + 1)

    def _finish(self, handover: _Handover) -> None:
        """Start the new owners: nobody else holds any of their tasks."""
        self.prepared, self._handover = handover.prepared, None
        self._fleet.forget(handover.affected)
        self._setbacks.back(_HANDOVER)
        self._setbacks.forget(handover.affected)
        for processor in handover.affected:
            self._done.pop(processor, None)
        with fail_point(FailPoint.HANDOVER_START):
            for processor in sorted(handover.affected & self.prepared.model.processors.keys()):
                self._fleet.start(processor, self.prepared)
        handover.done.set_result(None)
