"""One run of an app on this machine, from its spec to its summary."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_runtime.driver.board import Board
from streamapp_runtime.driver.prepare import PreparedRun, tidy_outputs
from streamapp_runtime.driver.records import RunRecord, Summary, load_record, save_record
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.start import RunRequest, check_unchanged, start_run
from streamapp_runtime.driver.summary import summarize
from streamapp_runtime.errors import FAILURES, ProcessorFailed
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.hosts.protocol import ProcessorHost
from streamapp_runtime.processor.channel import Command, DriverChannel
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_systems.metadata.sqlite import SqliteMetadataStore

_LOOK_SECONDS = 0.25
_STOP_SECONDS = 15.0

Listener = Callable[[Summary], object]
"""Is told how far the run is, a few times a second."""


class MakeHost(Protocol):
    """Makes the host of a run, once it is known that the run can start."""

    def __call__(self, channel: DriverChannel, name: str, processors: int, log_folder: Path) -> ProcessorHost:
        """Make a host for so many processors that report to a channel; its logs go to a folder."""
        ...


def run_app(request: RunRequest, make_host: MakeHost, listener: Listener) -> Summary:
    """Run an app to its end, going on where the last start left off; of a completed run, give the summary again.

    Raises:
        DocumentError: the text is no StreamApp.
        RuntimeFailure, StreamSystemError: the app was refused, or failed; what was committed stays.
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
            summary = _Run(request, prepared, record, folder).to_the_end(make_host, listener)
            _finish(request, prepared, store, msgspec.structs.replace(record, summary=summary))
        finally:
            store.close()
    listener(summary)
    return summary


def _finish(request: RunRequest, prepared: PreparedRun, store: MetadataStore, record: RunRecord) -> None:
    with Taking(Step.RUN_FINISH):
        tidy_outputs(prepared.plan, request.folder)
        save_record(store, record)


class _Run:
    """The processors of a run, from their start to their end."""

    def __init__(self, request: RunRequest, prepared: PreparedRun, record: RunRecord, folder: RunFolder) -> None:
        self._request = request
        self._prepared = prepared
        self._record = record
        self._folder = folder
        self._board = Board(record.epoch)
        self._started = time.monotonic()

    def to_the_end(self, make_host: MakeHost, listener: Listener) -> Summary:
        processors = sorted(self._prepared.model.processors)
        name = self._prepared.plan.app.metadata.name
        host = make_host(self._board, name, len(processors), self._folder.path)
        try:
            futures = {host.start(self._config(processor)): processor for processor in processors}
            try:
                self._watch(futures, listener)
            except BaseException:
                self._stop(futures)
                raise
        finally:
            host.close()
        return self._summary([future.result() for future in futures])

    def _watch(self, futures: dict[Future[ProcessorReport], str], listener: Listener) -> None:
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _LOOK_SECONDS, FIRST_EXCEPTION)
            for future in done:
                self._check(future, futures[future])
            listener(self._summary(self._board.reports().values()))

    def _check(self, future: Future[ProcessorReport], processor: str) -> None:
        error = future.exception()
        if error is None:
            self._board.report(future.result())
        elif isinstance(error, FAILURES):
            raise error
        else:
            raise ProcessorFailed(f"processor {processor}: {type(error).__name__}: {error}") from error

    def _stop(self, futures: dict[Future[ProcessorReport], str]) -> None:
        self._board.tell(Command.STOP)
        wait(futures, _STOP_SECONDS)

    def _config(self, processor: str) -> ProcessorConfig:
        return ProcessorConfig(
            processor=processor,
            epoch=self._record.epoch,
            app=self._request.text,
            counts=dict(self._prepared.counts),
            job_model=self._prepared.model.model_dump_json(by_alias=True),
            ends=self._record.ends,
            folder=str(self._request.folder),
            state_folder=str(self._folder.state(self._record.run_id)),
        )

    def _summary(self, reports: Iterable[ProcessorReport]) -> Summary:
        return summarize(self._prepared.plan, self._record.ends, reports, time.monotonic() - self._started)
