"""The start of a run (`docs/protocols.md`, Start of a run): a new one, or one that goes on after any death."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelUnreadableError
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT, MetadataStore
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_text
from streamapp_runtime.app_streams import file_names
from streamapp_runtime.driver.local_edits import check_edits
from streamapp_runtime.driver.maintenance import forget_positions
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    drop_streams,
    make_outputs,
    make_streams,
    plan_again,
    plan_run,
)
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.run_record import RunRecord, save_record
from streamapp_runtime.driver.run_recovery import after_newest, instead_of_lost
from streamapp_runtime.driver.takeover import announce, fence_former, find_streams_again, made_ready, new_record
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.clock import time_of_day


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run and where: `text` is the YAML, `folder` what its paths resolve from, `state` the app's folder.

    `run_id` is for a new run whose spec names none.
    """

    text: str
    folder: Path
    state: Path
    fresh: bool
    run_id: str


def start_run(
    request: RunRequest, folder: RunFolder, store: MetadataStore, last: RunRecord | None
) -> tuple[PreparedRun, RunRecord]:
    """Begin a new run, or go on with the last one, which has not completed.

    The record comes first: until it says that the run is prepared, nothing has been processed, and all of it may be
    done again.

    Raises:
        PlanRefused, NotSupported: nothing was changed. A growth of streams that is refused is no reason: see
            `PreparedRun.refused`.
        RuntimeFailure: more than settings of the spec was edited since the run began.
        JobModelLost, JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: a system does not do what it should.
    """
    parsed = parse_text(request.text)
    if last is None or request.fresh or not last.prepared:
        prepared, record = _new(request, parsed, folder, store, last)
    else:
        prepared, record = _continued(request, parsed, store, last)
    plan = prepared.plan
    coordinator = Coordinator(plan.app, plan.default_system, request.folder)
    record = after_newest(record, coordinator)
    if last is None:
        record = instead_of_lost(record, coordinator, plan, request.folder, fresh=request.fresh)
    with fail_point(FailPoint.RUN_RECORD):
        save_record(store, record)
        if record.prepared:
            find_streams_again(record, prepared, request.folder)
        put_in_force(store, prepared.model, record.epoch)
        announce(record, prepared, request.folder)
    fence_former(record, prepared, request.folder)
    if not record.prepared:
        with fail_point(FailPoint.RUN_STREAMS):
            drop_streams(record.outdated, prepared.plan.app, request.folder)
            folder.forget_all_but(record.run_id)
            make_outputs(prepared.plan, request.folder)
            make_streams(prepared, request.folder)
            forget_positions(prepared.plan, request.folder)
            record = made_ready(record, store, prepared, request.folder)
    return prepared, record


def _new(
    request: RunRequest, parsed: ParsedApp, folder: RunFolder, store: MetadataStore, last: RunRecord | None
) -> tuple[PreparedRun, RunRecord]:
    run_id = request.run_id
    if parsed.app is not None and parsed.app.spec.run_id is not None:
        run_id = parsed.app.spec.run_id
    prepared = plan_run(parsed, request.folder, run_id, str(folder.path))
    if last is not None and last.prepared and last.run_id == run_id:
        raise RuntimeFailure(f"spec.runId: run {run_id} has state already; give a new run id, or none, to start anew")
    epoch = 1 if last is None else last.epoch + 1
    return prepared, new_record(prepared, request.folder, epoch, last, _ids_in_force(store))


def _ids_in_force(store: MetadataStore) -> tuple[str, ...]:
    """Give the transactional ids of the last run, as far as its job model can be read: a new run must be possible."""
    with suppress(JobModelUnreadableError):
        stored = read_job_model(store)
        return () if stored is None else stored.model.transactional_ids
    return ()


def _continued(
    request: RunRequest, parsed: ParsedApp, store: MetadataStore, last: RunRecord
) -> tuple[PreparedRun, RunRecord]:
    stored = read_job_model(store)
    if stored is None or stored.model.run_id != last.run_id:
        raise JobModelDamagedError(f"the job model of run {last.run_id} is gone")
    if parsed.app is not None:
        check_edits(last.spec, parsed.app, last.run_id)
    prepared = plan_again(parsed, request.folder, stored.model, time_of_day())
    _check_files(last, file_names(prepared.plan, request.folder))
    return prepared, msgspec.structs.replace(last, epoch=last.epoch + 1, spec=_spec(prepared.plan.app))


def put_in_force(store: MetadataStore, model: JobModel, epoch: int) -> None:
    """Make a job model the one that the app goes by; only the driver that holds the run's folder may.

    Raises:
        JobModelOutdatedError: a newer one is in force.
    """
    in_force = store.get(POINTER)
    write_job_model(store, model, epoch=epoch, expected=ABSENT if in_force is None else in_force.version)


def check_unchanged(request: RunRequest, completed: RunRecord) -> None:
    """Refuse to give the summary of a completed run for an app that is another one now.

    Raises:
        RuntimeFailure: it is.
    """
    parsed = parse_text(request.text)
    if parsed.app is None or parsed.problems or _spec(parsed.app) != completed.spec:
        raise RuntimeFailure(
            f"run {completed.run_id} has completed, and the app has changed since: --fresh runs it as it is now"
        )


def _check_files(last: RunRecord, found: dict[str, list[str]]) -> None:
    """Refuse files that came or went under a run: a partition's number would mean another file."""
    for stream, names in last.files.items():
        changed = sorted(set(names) ^ set(found.get(stream, ())))
        if changed:
            raise RuntimeFailure(
                f"stream {stream}: the files are not those that run {last.run_id} began with ({', '.join(changed)}): "
                "put them back as they were to go on, or start anew with --fresh"
            )


def _spec(app: StreamApp) -> str:
    return app.spec.model_dump_json(by_alias=True)
