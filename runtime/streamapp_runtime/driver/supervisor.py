"""The supervisor of a run's processors (docs/protocols.md, Replacement of a processor and Handover).

Tasks never move between running processors: a processor whose tasks change ends, and its next incarnation starts with
the new job model. All others keep running.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from streamapp_runtime.driver.affected_processors import affected_processors
from streamapp_runtime.driver.fleet import End, Fleet
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.retry_tracker import RetryTracker
from streamapp_runtime.driver.run_authority import Authority
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import FAILURES, OUTAGES, TRANSIENT, SideInputChanged
from streamapp_runtime.fail_points import FailPoint, Moment, fail_point, reach
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_runtime.threads import Threads

_SHORTEST_WAIT = 0.05
_HANDOVER = "the handover"


@dataclass(slots=True, kw_only=True)
class _Recovery:
    """A processor without a living incarnation: fenced (None: when it is due), then restarted when it is due."""

    due: float
    fence: Future[None] | None
    side_input_changed: bool


def _nothing_to_prepare() -> None:
    return None


@dataclass(slots=True, kw_only=True)
class _Handover:
    """A change under way: its job model is activated, the affected processors are drained, fenced, and started.

    `previous_owners` are those of them that the previous job model had. `work` is the activation or, once the job model
    is `active`, the fence, after which `prepare` is called; None: it is due at `due`, after so many failed `attempts`.
    `earlier_fences` are those of processors that were to be replaced: one that is under way would fence the new owners.
    """

    run: PlannedRun
    affected: frozenset[str]
    previous_owners: frozenset[str]
    done: Future[None]
    due: float
    prepare: Callable[[], None] = _nothing_to_prepare
    work: Future[None] | None = None
    attempts: int = 0
    active: bool = False
    earlier_fences: tuple[Future[None], ...] = ()

    @property
    def fencing_earlier(self) -> list[Future[None]]:
        """The earlier fences that are under way."""
        return [fence for fence in self.earlier_fences if not fence.done()]


class Supervisor:
    """Starts the processors of a run, replaces those that die, and hands their tasks over when the job model changes.

    Used by one thread, which calls `step` a few times a second; `change` may be called by any.
    """

    def __init__(
        self,
        run: PlannedRun,
        fleet: Fleet,
        authority: Authority,
        *,
        clock: Callable[[], float],
        timeouts: Timeouts,
        threads: Threads,
    ) -> None:
        self.run = run
        """The plan and the job model that the processors run by."""
        self._fleet = fleet
        self._authority = authority
        self._clock = clock
        self._timeouts = timeouts
        self._threads = threads
        self._retries = RetryTracker(timeouts, clock)
        self._recoveries: dict[str, _Recovery] = {}
        self._done: dict[str, ProcessorReport] = {}
        self._changes: SimpleQueue[tuple[PlannedRun, Future[None]]] = SimpleQueue()
        """Changes that were requested and have not begun; only the last one counts."""
        self._restart: Callable[[], None] | None = None
        self._handover: _Handover | None = None
        self._draining = False

    @property
    def completed(self) -> bool:
        """Whether all processors have come to the end of their inputs."""
        return self._handover is None and self._done.keys() == self.run.model.processors.keys()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the run has completed, or all processors are drained."""
        return self.completed or (self._draining and not self._fleet.living)

    @property
    def changing(self) -> bool:
        """Whether a change of the job model or a restart of all processors is requested or under way."""
        return self._handover is not None or self._restart is not None or not self._changes.empty()

    @property
    def side_input_changed(self) -> bool:
        """Whether a processor waits for its restart since a file that fills a table is another one."""
        return any(recovery.side_input_changed for recovery in self._recoveries.values())

    @property
    def incidents(self) -> tuple[str, ...]:
        """The newest failures of processors and outages of systems that did not end the run, each a line."""
        return self._retries.incidents

    @property
    def incident_count(self) -> int:
        """The number of all incidents, of which `incidents` has the newest."""
        return self._retries.incident_count

    @property
    def reports(self) -> Mapping[str, ProcessorReport]:
        """The last reports of the processors that have come to the end of their inputs."""
        return self._done

    def start(self) -> None:
        """Start all processors."""
        for processor in sorted(self.run.model.processors):
            self._fleet.start(processor, self.run)

    def change(self, run: PlannedRun) -> Future[None]:
        """Request a new job model; the future is done when its processors have been started.

        A change that was requested earlier and has not begun is dropped: its future is cancelled.
        """
        done: Future[None] = Future()
        self._changes.put((run, done))
        return done

    def restart(self, prepare: Callable[[], None]) -> None:
        """Request that all processors make a last commit and start again under the same job model.

        When none of them runs and before the first one starts, `prepare` is called, in any thread; where it finds a
        system away, again.
        """
        self._restart = prepare

    def drain(self) -> None:
        """Ask all processors for a last commit, after which they end; nothing is started any more."""
        if not self._draining:
            self._draining = True
            self._recoveries.clear()
            self._fleet.drain(self._fleet.living)

    def wait(self, seconds: float) -> None:
        """Wait until there is something to do, but no longer than that."""
        pending = [(recovery.due, recovery.fence) for recovery in self._recoveries.values()]
        if self._handover is not None:
            pending.append((self._handover.due, self._handover.work))
            pending += [(self._handover.due, fence) for fence in self._handover.fencing_earlier]
        ends: list[Future[Any]] = [work for _, work in pending if work is not None and not work.done()]
        ends += self._fleet.futures
        dues = [max(due - self._clock(), _SHORTEST_WAIT) for due, _ in pending]
        self._threads.wait(ends, min([seconds, *dues]), first=True)

    def step(self) -> None:
        """Take the ends of incarnations, and do the next steps of replacements and of the handover that are due.

        Raises:
            RuntimeFailure, StreamSystemError, JobModelOutdatedError: the run can't continue.
        """
        for end in self._fleet.poll():
            self._take_end(end)
        if self._retries.waiting:
            for processor, life in self._fleet.lives():
                self._retries.note_life(processor, life)
        if not self._draining:
            self._advance_handover()
            for processor, recovery in list(self._recoveries.items()):
                self._recover(processor, recovery)

    def _take_end(self, end: End) -> None:
        if end.report is not None:
            if end.report.done:
                self._done[end.processor] = end.report
            return
        assert end.error is not None
        if isinstance(end.error, FAILURES) and not isinstance(end.error, TRANSIENT):
            raise end.error
        handover = self._handover
        drained = handover is not None and handover.active and end.processor in handover.affected
        if not self._draining and not drained:
            self._replace(end)

    def _replace(self, end: End) -> None:
        """Fence an incarnation that has died, and have the next one started."""
        self._recoveries[end.processor] = _Recovery(
            due=self._clock() + self._retries.note_failure(end),
            fence=self._fence(FailPoint.REPLACE_FENCE, {end.processor}),
            side_input_changed=isinstance(end.error, SideInputChanged),
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
                recovery.due = self._clock() + self._retries.note_fence_failure(processor, error)
            elif due:
                self._retries.note_fenced(processor)
                del self._recoveries[processor]
                with fail_point(FailPoint.REPLACE_START):
                    self._fleet.start(processor, self.run)

    def _fence(
        self, point: FailPoint, processors: Collection[str], prepare: Callable[[], None] = _nothing_to_prepare
    ) -> Future[None]:
        def fence() -> None:
            with fail_point(point):
                self._authority.fence(processors)
            prepare()

        return self._threads.start("fence", fence)

    def _advance_handover(self) -> None:
        if self._handover is None and (change := self._take_change()) is not None:
            self._handover = self._begin_handover(*change)
        elif self._handover is None and self._restart is not None:
            self._handover = self._begin_restart(self._restart)
            self._restart = None
        handover = self._handover
        if handover is None:
            return
        if handover.active and (handover.affected & self._fleet.living.keys() or handover.fencing_earlier):
            return
        if handover.work is None:
            if self._clock() >= handover.due:
                handover.work = self._fence_owners(handover) if handover.active else self._activate(handover.run)
        elif handover.work.done():
            error = handover.work.exception()
            if error is not None:
                self._retry_handover(handover, error)
            elif handover.active:
                self._finish_handover(handover)
            else:
                self._drain_affected(handover)

    def _take_change(self) -> tuple[PlannedRun, Future[None]] | None:
        """Take the change that was requested last, with its future; the futures of all earlier ones are cancelled."""
        last = None
        while True:
            try:
                change = self._changes.get_nowait()
            except Empty:
                return last
            if last is not None:
                last[1].cancel()
            last = change

    def _begin_handover(self, run: PlannedRun, done: Future[None]) -> _Handover:
        previous = self.run.model
        affected = affected_processors(previous, run.model)
        return _Handover(
            run=run,
            affected=affected,
            previous_owners=affected & previous.processors.keys(),
            done=done,
            due=self._clock(),
        )

    def _begin_restart(self, prepare: Callable[[], None]) -> _Handover:
        """Drain all processors; the job model stays."""
        affected = frozenset(self.run.model.processors)
        handover = _Handover(
            run=self.run,
            affected=affected,
            previous_owners=affected,
            done=Future(),
            due=self._clock(),
            prepare=prepare,
        )
        self._drain_affected(handover)
        return handover

    def _activate(self, run: PlannedRun) -> Future[None]:
        def activate() -> None:
            with fail_point(FailPoint.HANDOVER_MODEL):
                self._authority.activate_job_model(run)

        return self._threads.start("activate", activate)

    def _drain_affected(self, handover: _Handover) -> None:
        """Drain the processors that the job model, which is active, affects. None of them is replaced any more."""
        reach(FailPoint.HANDOVER_DRAIN, Moment.BEFORE)
        self._retries.end_outage(_HANDOVER)
        handover.active, handover.work, handover.attempts = True, None, 0
        dropped = [self._recoveries.pop(processor, None) for processor in handover.affected]
        fences = (recovery.fence for recovery in dropped if recovery is not None)
        handover.earlier_fences = tuple(fence for fence in fences if fence is not None)
        self._fleet.drain(handover.affected & self._fleet.living.keys())

    def _fence_owners(self, handover: _Handover) -> Future[None]:
        if handover.attempts == 0:
            reach(FailPoint.HANDOVER_DRAIN, Moment.AFTER)
        return self._fence(FailPoint.HANDOVER_FENCE, handover.previous_owners, handover.prepare)

    def _retry_handover(self, handover: _Handover, error: BaseException) -> None:
        handover.work = None
        handover.attempts += 1
        if isinstance(error, OUTAGES):
            handover.due = self._clock() + self._retries.note_outage(_HANDOVER, error)
        elif not isinstance(error, TRANSIENT) or handover.attempts >= self._timeouts.failures:
            raise error
        else:
            handover.due = self._clock() + self._timeouts.backoff(handover.attempts + 1)

    def _finish_handover(self, handover: _Handover) -> None:
        """Start the new owners: nobody else holds any of their tasks."""
        self.run, self._handover = handover.run, None
        self._fleet.forget(handover.affected)
        self._retries.end_outage(_HANDOVER)
        self._retries.forget(handover.affected)
        for processor in handover.affected:
            self._done.pop(processor, None)
        with fail_point(FailPoint.HANDOVER_START):
            for processor in sorted(handover.affected & self.run.model.processors.keys()):
                self._fleet.start(processor, self.run)
        handover.done.set_result(None)
