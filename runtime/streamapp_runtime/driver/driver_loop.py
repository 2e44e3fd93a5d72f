"""The loop of a driver: the processors of one epoch, from their start until all inputs have ended, or it is drained.

It is the same on this machine and on Kubernetes. What differs are two ports: where job models come from, and where
progress goes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

import msgspec

from streamapp_core.plan.partition_claims import advise_on_claim, partition_claims
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.job import OnBrokenClaim
from streamapp_runtime.driver.build_run_record import build_refreshed_record
from streamapp_runtime.driver.fleet import Fleet
from streamapp_runtime.driver.maintenance import Maintenance
from streamapp_runtime.driver.output_jobs import OutputJobs
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import Authority
from streamapp_runtime.driver.run_record import RunRecord, Summary
from streamapp_runtime.driver.run_summary import summarize
from streamapp_runtime.driver.side_input_changes import TakenEnds
from streamapp_runtime.driver.side_input_monitor import SideInputMonitor
from streamapp_runtime.driver.source_jobs import SourceJobs
from streamapp_runtime.driver.supervisor import Supervisor
from streamapp_runtime.driver.table_upkeep import TableUpkeep
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import ClaimBroken
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport


class JobModelSource(Protocol):
    """The source of a run's job models."""

    def poll(self, current: PlannedRun) -> PlannedRun | None:
        """Return the run to change to, if there is another than the `current` one. Never waits long.

        Called at each turn of the loop, but not while a change is under way or the run is drained.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run, `run`, its plan and job model now, and its `record`.

    `living` has the latest reports of the processors that run; `draining` says whether it has been asked to stop.
    """

    run: PlannedRun
    record: RunRecord
    summary: Summary
    living: Mapping[str, ProcessorReport]
    draining: bool


class ProgressListener(Protocol):
    """The receiver of a run's progress."""

    def report(self, progress: Progress) -> None:
        """Report the progress of a run, at each turn of the loop. No decision depends on it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One epoch of a run: the run at its start, its record, and the `text` of the app that processors parse.

    Processors keep their state in `state_folder`. `started` is when
    the run's seconds begin to count (monotonic). Errors stop the processors without a commit: they get `stop_seconds`
    to end.
    """

    run: PlannedRun
    record: RunRecord
    text: str
    state_folder: str
    started: float
    stop_seconds: float
    timeouts: Timeouts
    turn_seconds: float = 0.25


class DriverLoop:
    """Runs the processors of one epoch: `with DriverLoop(...) as loop: loop.run(...)`. An error stops them."""

    def __init__(
        self,
        epoch: Epoch,
        context: ExecutionContext,
        authority: Authority,
        host: ProcessorHost,
        registry: ReportRegistry,
        *,
        job_models: JobModelSource,
        listener: ProgressListener,
    ) -> None:
        """Take a host whose processors report to the registry."""
        self._epoch = epoch
        self._record = epoch.record
        self._stops_at_broken_claims = epoch.run.plan.app.spec.job.on_broken_claim is OnBrokenClaim.FAIL
        self._authority = authority
        self._context = context
        self._clock = context.clock.monotonic
        self._side_inputs = self._monitor_side_inputs()
        self._sources = SourceJobs(epoch.run.plan, context)
        self._upkeep = TableUpkeep(epoch.run.plan, context)
        self._outputs = OutputJobs(epoch.run.plan, context)
        self._registry = registry
        self._job_models = job_models
        self._listener = listener
        self._fleet = Fleet(
            host,
            registry,
            self._config,
            epoch=epoch.record.epoch,
            clock=self._clock,
            timeouts=epoch.timeouts,
            threads=context.threads,
        )
        self._merged: tuple[tuple[object, ...], Summary] | None = None
        self._supervisor = Supervisor(
            epoch.run,
            self._fleet,
            authority,
            clock=self._clock,
            timeouts=epoch.timeouts,
            threads=context.threads,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._fleet.stop(self._epoch.stop_seconds)

    def run(self, drain: Callable[[], bool]) -> Progress | None:
        """Run until all inputs have ended, and return the final progress; None if `drain` asked to stop before that.

        Raises:
            EpochOutdatedError, Superseded: another epoch is active.
            ClaimBroken: the rows of its inputs are not where their keys belong.
            RuntimeFailure, StreamSystemError: the app can't continue.
        """
        supervisor = self._supervisor
        if self._stops_at_broken_claims and self._record.broken_claim:
            raise ClaimBroken(self._record.broken_claim)
        maintenance = Maintenance(self._epoch.run.plan, self._context, self._registry.reports, self._owners)
        with maintenance, self._sources, self._outputs, self._upkeep:
            if not self._await_sources(drain):
                return None
            supervisor.start()
            while not supervisor.finished:
                supervisor.step()
                self._sources.check()
                self._outputs.check()
                draining = drain()
                if draining:
                    supervisor.drain()
                elif not supervisor.changing:
                    self._request_change()
                progress = self._progress(self._registry.reports().values(), draining=draining)
                self._listener.report(progress)
                self._check_claims(progress)
                supervisor.wait(self._epoch.turn_seconds)
            if not supervisor.completed or not self._await_outputs(drain):
                return None
        final = self._progress(supervisor.reports.values(), draining=False)
        self._check_claims(final)
        return final

    def _await_sources(self, drain: Callable[[], bool]) -> bool:
        """Wait until sources that fill tables have been read once; return whether they have, before `drain` says so."""
        while not self._sources.ready:
            self._sources.check()
            if drain():
                return False
            self._listener.report(self._progress((), draining=False))
            self._sources.wait(self._epoch.turn_seconds)
        return True

    def _await_outputs(self, drain: Callable[[], bool]) -> bool:
        """Wait until jobs have written what is committed; return whether they have, before `drain` says so."""
        self._outputs.finish()
        while not self._outputs.finished:
            if drain():
                return False
            self._listener.report(self._progress(self._supervisor.reports.values(), draining=False))
            self._outputs.wait(self._epoch.turn_seconds)
        self._outputs.check()
        return True

    def _check_claims(self, progress: Progress) -> None:
        """End the run, and every later start of it, where processors together have found a claim broken.

        What one of them finds, it does not commit; but the rows that they compare are committed.

        Raises:
            ClaimBroken: that stops the app.
        """
        found = progress.summary.broken_claims
        if not self._stops_at_broken_claims or not found:
            return
        stream = min(found)
        broken = f"{found[stream].example} {advise_on_claim(partition_claims(progress.run.plan)[stream])}"
        self._record = msgspec.structs.replace(self._record, broken_claim=broken)
        self._authority.save(self._record)
        raise ClaimBroken(broken)

    def _request_change(self) -> None:
        """Request the change that the job models or the files of side inputs call for, if there is one."""
        supervisor = self._supervisor
        if (change := self._job_models.poll(supervisor.run)) is not None:
            supervisor.change(change)
            return
        taken = self._side_inputs.poll(self._clock(), urgent=supervisor.side_input_changed)
        if taken is not None:
            supervisor.restart(lambda: self._refresh_side_inputs(taken))

    def _refresh_side_inputs(self, taken: TakenEnds) -> None:
        """Have all processors that start from here on read new versions of side inputs."""
        record = build_refreshed_record(self._record, self._supervisor.run.plan, taken)
        self._authority.save(record)
        self._record = record
        self._side_inputs = self._monitor_side_inputs()

    def _monitor_side_inputs(self) -> SideInputMonitor:
        return SideInputMonitor(self._epoch.run.plan, self._context, self._record, self._clock())

    def _owners(self) -> set[str]:
        """Return the processors that have tasks."""
        return {task.processor for task in self._supervisor.run.model.tasks.values()}

    def _progress(self, reports: Iterable[ProcessorReport], *, draining: bool) -> Progress:
        run, seconds = self._supervisor.run, self._clock() - self._epoch.started
        latest = {processor: self._registry.latest(processor) for processor in self._fleet.living}
        summary = self._summarize(run.plan, list(reports), seconds)
        jobs = (self._side_inputs, self._sources, self._outputs, self._upkeep)
        own = (notice for job in jobs for notice in job.notices)
        notices = dict.fromkeys((*self._record.notices, *summary.notices, *own))
        return Progress(
            run=run,
            record=self._record,
            summary=msgspec.structs.replace(
                summary,
                notices=tuple(notices),
                incidents=self._supervisor.incidents,
                incident_count=self._supervisor.incident_count,
            ),
            living={processor: report for processor, report in latest.items() if report is not None},
            draining=draining,
        )

    def _summarize(self, plan: Plan, reports: list[ProcessorReport], seconds: float) -> Summary:
        """Merge reports, unless they are those of the last turn."""
        merged = plan, self._record, reports
        if self._merged is None or merged != self._merged[0]:
            self._merged = merged, summarize(plan, self._record, reports, seconds)
        return msgspec.structs.replace(self._merged[1], seconds=seconds)

    def _config(self, run: PlannedRun, incarnation: Incarnation) -> ProcessorConfig:
        return ProcessorConfig(
            incarnation=incarnation,
            app=self._epoch.text,
            counts=dict(run.counts),
            job_model=run.model.model_dump_json(by_alias=True),
            ends=self._record.ends,
            starts=self._record.starts,
            side_inputs=self._record.side_inputs,
            folder=str(self._context.systems.folder),
            state_folder=self._epoch.state_folder,
        )
