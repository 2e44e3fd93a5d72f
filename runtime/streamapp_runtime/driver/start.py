"""The start of a run (`docs/protocols.md`, Start of a run): a new one, or one that goes on after any death."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from streamapp_core.job_model.documents import POINTER
from streamapp_core.job_model.errors import JobModelDamagedError
from streamapp_core.job_model.model import JobModel
from streamapp_core.job_model.stored import read_job_model, write_job_model
from streamapp_core.metadata.store import ABSENT, MetadataStore
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_text
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    drop_streams,
    fence,
    made_streams,
    make_outputs,
    make_streams,
    plan_run,
)
from streamapp_runtime.driver.records import RunRecord, save_record
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.errors import NotSupported, RuntimeFailure
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.streams import bounded_ends, file_names


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
        PlanRefused, NotSupported: nothing was changed.
        RuntimeFailure: the spec is not the one the run began with.
        JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: a system does not do what it should.
    """
    parsed = parse_text(request.text)
    if last is None or request.fresh or not last.prepared:
        prepared, record = _new(request, parsed, folder, last)
    else:
        prepared, record = _continued(request, parsed, folder, store, last)
    with Taking(Step.RUN_RECORD):
        save_record(store, record)
        in_force = store.get(POINTER)
        expected = ABSENT if in_force is None else in_force.version
        write_job_model(store, prepared.model, epoch=record.epoch, expected=expected)
    with Taking(Step.RUN_FENCE):
        fence(prepared, record.epoch, request.folder)
    if not record.prepared:
        with Taking(Step.RUN_STREAMS):
            drop_streams(record.outdated, prepared.plan.app, request.folder)
            folder.forget_all_but(record.run_id)
            make_outputs(prepared.plan, request.folder)
            make_streams(prepared, request.folder)
            record = msgspec.structs.replace(record, prepared=True, outdated={})
            save_record(store, record)
    return prepared, record


def _new(
    request: RunRequest, parsed: ParsedApp, folder: RunFolder, last: RunRecord | None
) -> tuple[PreparedRun, RunRecord]:
    run_id = request.run_id
    if parsed.app is not None and parsed.app.spec.run_id is not None:
        run_id = parsed.app.spec.run_id
    prepared = plan_run(parsed, request.folder, run_id, str(folder.path), None)
    if last is not None and last.prepared and last.run_id == run_id:
        raise RuntimeFailure(f"spec.runId: run {run_id} has state already; give a new run id, or none, to start anew")
    made: dict[str, list[str]] = defaultdict(list)
    for stream in made_streams(prepared):
        made[stream.system].append(stream.address)
    record = RunRecord(
        run_id=run_id,
        epoch=1 if last is None else last.epoch + 1,
        spec=_spec(prepared.plan.app),
        ends=bounded_ends(prepared.plan, request.folder),
        files=file_names(prepared.plan, request.folder),
        made=made,
        outdated={} if last is None else _merged(last.outdated, last.made),
    )
    return prepared, record


def _continued(
    request: RunRequest, parsed: ParsedApp, folder: RunFolder, store: MetadataStore, last: RunRecord
) -> tuple[PreparedRun, RunRecord]:
    stored = read_job_model(store)
    if stored is None or stored.model.run_id != last.run_id:
        raise JobModelDamagedError(f"the job model of run {last.run_id} is gone")
    if parsed.app is not None and _spec(parsed.app) != last.spec:
        raise RuntimeFailure(
            f"the app is not the one that run {last.run_id} began with, and the run has not ended: "
            "put the YAML back as it was to go on, or start anew with --fresh"
        )
    prepared = plan_run(parsed, request.folder, last.run_id, str(folder.path), stored.model)
    _check_files(last, file_names(prepared.plan, request.folder))
    _check_partitions(stored.model, prepared.counts)
    return replace(prepared, model=stored.model), msgspec.structs.replace(last, epoch=last.epoch + 1)


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


def _check_partitions(model: JobModel, found: Mapping[str, int]) -> None:
    """Refuse streams that grew under a run: it would not read their new partitions.

    Raises:
        NotSupported: one has grown.
    """
    for stream, known in model.streams.items():
        count = found.get(stream, known.partitions)
        if count != known.partitions:
            raise NotSupported(
                f"stream {stream} had {known.partitions} partitions when run {model.run_id} began and has {count} now; "
                "this release can't take the new ones into a run that goes on: start anew with --fresh"
            )


def _spec(app: StreamApp) -> str:
    return app.spec.model_dump_json(by_alias=True)


def _merged(left: dict[str, list[str]], right: dict[str, list[str]]) -> dict[str, list[str]]:
    return {system: [*left.get(system, ()), *right.get(system, ())] for system in {**left, **right}}
