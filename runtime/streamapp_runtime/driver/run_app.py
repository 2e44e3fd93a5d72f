"""One run of an app on this machine, from its spec to its summary."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_runtime.driver.fleet import Fleet
from streamapp_runtime.driver.maintenance import Maintenance
from streamapp_runtime.driver.partition_monitor import Growth, PartitionMonitor
from streamapp_runtime.driver.prepare import PreparedRun
from streamapp_runtime.driver.processor_decisions import Timeouts
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import RunAuthority
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.run_record import RunRecord, Summary, load_record
from streamapp_runtime.driver.run_start import RunRequest, check_unchanged, put_in_force, start_run
from streamapp_runtime.driver.run_summary import summarize
from streamapp_runtime.driver.supervisor import Supervisor
from streamapp_runtime.driver.takeover import finish
from streamapp_runtime.errors import Drained
from streamapp_runtime.hosts.background_thread import in_thread
from streamapp_runtime.hosts.processor_host import ProcessorHost
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_systems.metadata.sqlite import SqliteMetadataStore

_LOOK_SECONDS = 0.25
_STOP_SECONDS = 5.0

Listener = Callable[[Summary], object]
"""Is told how far the run is, a few times a second."""


class MakeHost(Protocol):
    """Makes the host of a run, once it is known that the run can start."""

    def __call__(self, channel: DriverChannel, name: str, log_folder: Path) -> ProcessorHost:
        """Make a host for the processors of an app, which report to a channel; its logs go to a folder."""
        ...


Wanted = Callable[[PreparedRun], PreparedRun | None]
"""Asked for what a run is to go on with instead, if anything: another job model, made from the one there is."""


def _never() -> bool:
    return False


def _nothing_else(_: PreparedRun) -> None:
    return None


def run_app(
    request: RunRequest,
    make_host: MakeHost,
    listener: Listener,
    *,
    drain: Callable[[], bool] = _never,
    wanted: Wanted = _nothing_else,
    patience: Timeouts | None = None,
) -> Summary:
    """Run an app to its end, going on where the last start left off; of a completed run, give the summary again.

    A few times a second, `drain` is asked whether the run is to be stopped after a last commit, and `wanted` whether it
    is to go on with another job model.

    Raises:
        DocumentError: the text is no StreamApp.
        RuntimeFailure, StreamSystemError: the app was refused, or failed; what was committed stays.
        Drained: it was, before it came to its end.
        KeyboardInterrupt: the run was interrupted; its processors have stopped.
    """
    with RunFolder(request.state) as folder:
        store = SqliteMetadataStore(folder.metadata)
        try:
            last = load_record(store)
            if last is not None and last.summary is not None and not request.fresh:
                check_unchanged(request, last)
                return last.summary
            prepared, record = start_run(request, folder, store, last)
            run = _Run(request, prepared, record, folder=folder, store=store, patience=patience or Timeouts())
            summary = run.to_the_end(make_host, listener, drain, wanted)
            finish(msgspec.structs.replace(record, summary=summary), prepared, store, request.folder, patience)
        finally:
            store.close()
    listener(summary)
    return summary


class _Run:
    """The processors of a run, from their start to their end."""

    def __init__(
        self,
        request: RunRequest,
        prepared: PreparedRun,
        record: RunRecord,
        *,
        folder: RunFolder,
        store: MetadataStore,
        patience: Timeouts,
    ) -> None:
        self._request = request
        self._store = store
        self._prepared = prepared
        self._record = record
        self._folder = folder
        self._patience = patience
        self._board = ReportRegistry(time.monotonic)
        self._started = time.monotonic()
        self._monitor = PartitionMonitor(request.text, request.folder, prepared, self._started)

    def to_the_end(self, make_host: MakeHost, listener: Listener, drain: Callable[[], bool], wanted: Wanted) -> Summary:
        host = make_host(self._board, self._prepared.plan.app.metadata.name, self._folder.path)
        try:
            fleet = Fleet(
                host,
                self._board,
                self._config,
                epoch=self._record.epoch,
                clock=time.monotonic,
                patience=self._patience,
            )
            try:
                return self._watch(self._supervisor(fleet), listener, drain, wanted)
            except BaseException:
                fleet.stop(_STOP_SECONDS)
                raise
        finally:
            host.close()

    def _supervisor(self, fleet: Fleet) -> Supervisor:
        return Supervisor(
            self._prepared,
            fleet,
            RunAuthority(self._record, self._prepared.plan, self._request.folder, put_in_force=self._put_in_force),
            clock=time.monotonic,
            patience=self._patience,
            background=in_thread,
        )

    def _put_in_force(self, model: JobModel) -> None:
        put_in_force(self._store, model, self._record.epoch)

    def _watch(self, supervisor: Supervisor, listener: Listener, drain: Callable[[], bool], wanted: Wanted) -> Summary:
        def working() -> set[str]:
            return {task.processor for task in supervisor.prepared.model.tasks.values()}

        with Maintenance(self._prepared.plan, self._request.folder, self._board.reports, working):
            supervisor.start()
            while not supervisor.finished:
                supervisor.step()
                if not supervisor.changing and (change := self._grown(supervisor) or wanted(supervisor.prepared)):
                    supervisor.change(change)
                if drain():
                    supervisor.drain()
                listener(self._summary(supervisor, self._board.reports().values()))
                supervisor.wait(_LOOK_SECONDS)
        if not supervisor.completed:
            raise Drained(f"run {self._record.run_id} was stopped after a last commit; start it again to go on")
        return self._summary(supervisor, supervisor.reports.values())

    def _grown(self, supervisor: Supervisor) -> PreparedRun | None:
        news = self._monitor.look(time.monotonic(), supervisor.prepared)
        return news.prepared if isinstance(news, Growth) else None

    def _config(self, prepared: PreparedRun, incarnation: Incarnation) -> ProcessorConfig:
        return ProcessorConfig(
            incarnation=incarnation,
            app=self._request.text,
            counts=dict(prepared.counts),
            job_model=prepared.model.model_dump_json(by_alias=True),
            ends=self._record.ends,
            starts=self._record.starts,
            folder=str(self._request.folder),
            state_folder=str(self._folder.state(self._record.run_id)),
        )

    def _summary(self, supervisor: Supervisor, reports: Iterable[ProcessorReport]) -> Summary:
        seconds = time.monotonic() - self._started
        summary = summarize(supervisor.prepared.plan, self._record.ends, reports, seconds)
        refused = tuple(map(str, self._monitor.problems))
        return msgspec.structs.replace(summary, troubles=supervisor.troubles, refused=refused)
