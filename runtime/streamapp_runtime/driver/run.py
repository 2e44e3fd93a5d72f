"""One run of an app on this machine, from its spec to its summary."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.board import Board
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    drop_streams,
    intermediate_streams,
    make_streams,
    plan_run,
)
from streamapp_runtime.driver.records import RunRecord, Summary, load_record, save_record
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.summary import summarize
from streamapp_runtime.errors import FAILURES, NotSupported, ProcessorFailed, RuntimeFailure
from streamapp_runtime.hosts.protocol import ProcessorHost
from streamapp_runtime.processor.channel import Command, DriverChannel
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_systems.metadata.sqlite import SqliteMetadataStore

_LOOK_SECONDS = 0.25
_STOP_SECONDS = 15.0


class MakeHost(Protocol):
    """Makes the host of a run, once it is known that the run can start."""

    def __call__(self, channel: DriverChannel, name: str, processors: int, log_folder: Path) -> ProcessorHost:
        """Make a host for so many processors that report to a channel; its logs go to a folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run and where: `text` is the YAML, `folder` what its paths resolve from, `state` the app's folder."""

    text: str
    folder: Path
    state: Path
    fresh: bool
    run_id: str


Listener = Callable[[Summary], None]
"""Is told how far the run is, a few times a second."""


def run_app(request: RunRequest, make_host: MakeHost, listener: Listener) -> Summary:
    """Run an app to its end; of a run that has completed, give the summary again.

    Raises:
        DocumentError: the text is no StreamApp.
        RuntimeFailure, StreamSystemError: the app was refused, or failed; what was committed stays.
        KeyboardInterrupt: the run was interrupted; its processors have stopped.
    """
    with RunFolder(request.state) as folder:
        store = SqliteMetadataStore(folder.metadata)
        try:
            record = load_record(store)
            if record is not None and not request.fresh:
                return _finished(record)
            prepared = _begin(request, folder, store, record)
            return _Run(request, prepared, folder, store).to_the_end(make_host, listener)
        finally:
            store.close()


def _finished(record: RunRecord) -> Summary:
    if record.summary is None:
        raise NotSupported(
            f"run {record.run_id} did not end, and this release can't continue it; --fresh starts a new one"
        )
    return record.summary


def _begin(request: RunRequest, folder: RunFolder, store: MetadataStore, previous: RunRecord | None) -> PreparedRun:
    parsed = parse_text(request.text)
    run_id = request.run_id
    if parsed.app is not None and parsed.app.spec.run_id is not None:
        run_id = parsed.app.spec.run_id
    prepared = plan_run(parsed, request.folder, run_id, str(folder.path))
    if previous is not None and previous.run_id == run_id:
        raise RuntimeFailure(f"spec.runId: run {run_id} has state already; give a new run id, or none, to start anew")
    assert parsed.app is not None
    if previous is not None:
        drop_streams(previous.intermediate, parsed.app, request.folder)
        folder.forget(previous.run_id)
    make_streams(prepared.plan, request.folder)
    save_record(store, _record(prepared, epoch=1 if previous is None else previous.epoch + 1))
    return prepared


def _record(prepared: PreparedRun, epoch: int) -> RunRecord:
    made = intermediate_streams(prepared.plan)
    return RunRecord(
        run_id=prepared.plan.run_id,
        epoch=epoch,
        job_model=prepared.model.model_dump_json(by_alias=True),
        ends=prepared.ends,
        intermediate={system: [stream.address for stream in streams] for system, streams in made.items()},
    )


class _Run:
    """A run under way."""

    def __init__(self, request: RunRequest, prepared: PreparedRun, folder: RunFolder, store: MetadataStore) -> None:
        self._request = request
        self._prepared = prepared
        self._folder = folder
        self._store = store
        record = load_record(store)
        assert record is not None
        self._record = record
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
        summary = self._summary([future.result() for future in futures])
        self._save(summary)
        listener(summary)
        return summary

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
        run_id = self._record.run_id
        return ProcessorConfig(
            processor=processor,
            epoch=self._record.epoch,
            app=self._request.text,
            counts=dict(self._prepared.counts),
            job_model=self._record.job_model,
            ends=self._record.ends,
            folder=str(self._request.folder),
            state_folder=str(self._folder.state(run_id)),
        )

    def _summary(self, reports: Iterable[ProcessorReport]) -> Summary:
        return summarize(self._prepared.plan, self._record.ends, reports, time.monotonic() - self._started)

    def _save(self, summary: Summary) -> None:
        save_record(self._store, msgspec.structs.replace(self._record, summary=summary))
