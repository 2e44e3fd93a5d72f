"""One run of an app on this machine, from its spec to its summary."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.problems import PlanWarning
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.driver.activate_job_model import activate_job_model
from streamapp_runtime.driver.completed_run import summarize_completed
from streamapp_runtime.driver.driver_loop import DriverLoop, Epoch, Progress
from streamapp_runtime.driver.fresh_start import FreshStart
from streamapp_runtime.driver.partition_monitor import AcceptedGrowth, PartitionMonitor
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import RunAuthority
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.run_record import Summary, load_record
from streamapp_runtime.driver.run_steps import complete_run
from streamapp_runtime.driver.start_run import Announce, RunRequest, start_run
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import Drained
from streamapp_runtime.execution_context import ExecutionContext, local_context
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_systems.metadata.sqlite import SqliteMetadataStore

_STOP_SECONDS = 5.0

Listener = Callable[[Summary], object]
"""Takes the progress of the run, a few times a second."""


class MakeHost(Protocol):
    """Makes the host of a run, once it is known that the run can start."""

    def __call__(self, channel: DriverChannel, app: StreamApp, log_folder: Path) -> ProcessorHost:
        """Make a host for the processors of an app, which report to a channel; its logs go to a folder."""
        ...


Warn = Callable[[Sequence[PlanWarning]], object]
"""Takes what the plan of a run warns of, when it starts or continues."""

Drain = Callable[[], bool]
"""Returns whether the run is to be stopped after a last commit."""

RequestedChange = Callable[[PlannedRun], PlannedRun | None]
"""Returns the run to change to, if another job model is requested; it is built from the one there is."""


def _never() -> bool:
    return False


def _no_announcement(_: FreshStart) -> None:
    return None


def _no_change(_: PlannedRun) -> None:
    return None


def run_app(
    request: RunRequest,
    make_host: MakeHost,
    listener: Listener,
    *,
    drain: Drain = _never,
    requested_change: RequestedChange = _no_change,
    announce: Announce = _no_announcement,
    warn: Warn = id,
    timeouts: Timeouts | None = None,
    context: ExecutionContext | None = None,
) -> Summary:
    """Run an app to its end, from where the last start left off; of a completed run, return the summary again.

    A few times a second, `drain` is asked whether the run is to be stopped after a last commit, and `requested_change`
    whether it is to change to another job model. `announce` is told what a new run deletes, before it does, `warn` what
    its plan warns of.
    Without a `context`, the run is in that of this process.

    Raises:
        DocumentError: the text is no StreamApp.
        RuntimeFailure, StreamSystemError: the app was refused, or failed; what was committed stays.
        Drained: the run was stopped by `drain` before its end.
        KeyboardInterrupt: the run was interrupted; its processors have stopped.
    """
    timeouts, context = timeouts or Timeouts(), context or local_context(request.folder)
    with RunFolder(request.state, context.clock) as folder:
        store = SqliteMetadataStore(folder.metadata)
        try:
            last = load_record(store)
            if last is not None and last.summary is not None and not request.fresh:
                return summarize_completed(request.text, last, last.summary, context.systems)
            started = context.clock.monotonic()
            run, record = start_run(request, context, folder, store, last, announce=announce)
            warn(run.plan.warnings)
            local = _LocalPorts(request, context, run, listener, requested_change)
            epoch = Epoch(
                run=run,
                record=record,
                text=request.text,
                state_folder=str(folder.state(record.run_id)),
                started=started,
                stop_seconds=_STOP_SECONDS,
                timeouts=timeouts,
            )
            authority = _authority(epoch, context, store)
            completed = _run_epoch(epoch, context, authority, make_host, local, drain=drain, logs=folder.path)
            summary = local.summary(completed)
            completed_record = msgspec.structs.replace(completed.record, summary=summary)
            complete_run(completed_record, completed.run, store, context, timeouts)
        finally:
            store.close()
    listener(summary)
    return summary


def _authority(epoch: Epoch, context: ExecutionContext, store: MetadataStore) -> RunAuthority:
    def activate(model: JobModel) -> None:
        activate_job_model(store, model, epoch.record.epoch)

    return RunAuthority(epoch.record, epoch.run.plan, store, context, activate=activate)


def _run_epoch(
    epoch: Epoch,
    context: ExecutionContext,
    authority: RunAuthority,
    make_host: MakeHost,
    local: "_LocalPorts",
    *,
    drain: Drain,
    logs: Path,
) -> Progress:
    """Run the processors until all inputs have ended, and return the final progress.

    Raises:
        Drained: the run was stopped before that.
    """
    registry = ReportRegistry(context.clock.monotonic)
    with (
        closing(make_host(registry, epoch.run.plan.app, logs)) as host,
        DriverLoop(epoch, context, authority, host, registry, job_models=local, listener=local) as loop,
    ):
        final = loop.run(drain)
        if final is None:
            raise Drained(f"run {epoch.record.run_id} was stopped after a last commit; start it again to continue")
        return final


class _LocalPorts:
    """The ports of a run on this machine: job models of the partition monitor, progress for a listener."""

    def __init__(
        self,
        request: RunRequest,
        context: ExecutionContext,
        run: PlannedRun,
        listener: Listener,
        requested_change: RequestedChange,
    ) -> None:
        self._clock = context.clock.monotonic
        self._monitor = PartitionMonitor(request.text, context, run, self._clock())
        self._listener = listener
        self._requested_change = requested_change

    def poll(self, current: PlannedRun) -> PlannedRun | None:
        """See `JobModelSource.poll`."""
        change = self._monitor.poll(self._clock(), current)
        return change.run if isinstance(change, AcceptedGrowth) else self._requested_change(current)

    def report(self, progress: Progress) -> None:
        """See `ProgressListener.report`."""
        self._listener(self.summary(progress))

    def summary(self, progress: Progress) -> Summary:
        """Return the summary, with what went wrong and why the run does not follow its streams."""
        refused = tuple(map(str, self._monitor.problems))
        return msgspec.structs.replace(progress.summary, refused=refused)
