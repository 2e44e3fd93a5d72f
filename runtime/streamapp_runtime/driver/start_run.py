"""The start of a run on this machine (docs/protocols.md, Start of a run): a new one, or one that continues."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelUnreadableError
from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp, parse_text
from streamapp_runtime.app_streams import file_names, input_file_stats
from streamapp_runtime.driver.activate_job_model import activate_job_model
from streamapp_runtime.driver.build_run_record import build_new_record
from streamapp_runtime.driver.create_streams import delete_streams
from streamapp_runtime.driver.fresh_start import (
    FreshStart,
    describe_fresh_start,
    empty_outputs,
    outputs_to_empty,
)
from streamapp_runtime.driver.local_edits import check_edits
from streamapp_runtime.driver.maintenance import delete_shown_positions
from streamapp_runtime.driver.plan_run import PlannedRun, plan_new_run, replan_run
from streamapp_runtime.driver.prepare_outputs import Check
from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.run_recovery import advance_epoch, replace_unknown_run
from streamapp_runtime.driver.run_steps import begin_epoch, create_run
from streamapp_runtime.driver.side_input_changes import (
    check_side_input_counts,
    describe_changes,
    take_bounded_ends,
)
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.functions.code_files import code_digests
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.registry import Systems


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request to run an app: `text` is the YAML, `folder` what its paths resolve from, `state` the app's folder.

    `run_id` is for a new run whose spec names none. `delete_outputs`: a fresh run deletes what its outputs in logs and
    Kafka hold, too.
    """

    text: str
    folder: Path
    state: Path
    fresh: bool
    run_id: str
    delete_outputs: bool = False


Announce = Callable[[FreshStart], object]
"""Reports what a new run is about to delete, and what stays, before anything is deleted."""


def start_run(
    request: RunRequest,
    context: ExecutionContext,
    folder: RunFolder,
    store: MetadataStore,
    last: RunRecord | None,
    *,
    announce: Announce,
) -> tuple[PlannedRun, RunRecord]:
    """Start a new run, or continue the last one, which has not completed.

    The record comes first: until it says that the run is prepared, nothing has been processed, and all of it may be
    done again.

    Raises:
        PlanRefused: nothing was changed. A growth of streams that is refused is no reason: see
            `PlannedRun.refused`.
        RuntimeFailure: more than settings of the spec was edited since the run began.
        JobModelLost, JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: a system does not do what it should.
    """
    parsed, systems = parse_text(request.text), context.systems
    if last is None or request.fresh or not last.prepared:
        run, record = _plan_new(request, parsed, systems, store, last)
    else:
        run, record = _plan_continued(parsed, context, store, last)
    coordinator = Coordinator(run.plan.app, run.plan.default_system, systems)
    record = advance_epoch(record, coordinator)
    if last is None:
        record = replace_unknown_run(record, coordinator, run.plan, systems, fresh=request.fresh)
    if not record.prepared:
        record = msgspec.structs.replace(record, emptied=_emptied(request, run, last))
        if request.fresh or last is not None:
            announce(describe_fresh_start(record, run.plan, systems, folder))
    record = msgspec.structs.replace(record, code=code_digests(run.plan.app.spec, request.folder))
    epoch = record.epoch

    def activate(model: JobModel) -> None:
        activate_job_model(store, model, epoch)

    def delete_previous(record: RunRecord, check: Check) -> None:
        check()
        delete_streams(record.outdated, run.plan.app, systems)
        folder.delete_other_states(record.run_id)
        empty_outputs(record.emptied, run.plan, systems, check)
        delete_shown_positions(run.plan, systems)

    begin_epoch(record, run, store, context, activate)
    if not record.prepared:
        record = create_run(record, run, store, context, delete_previous)
    return run, record


def _emptied(request: RunRequest, run: PlannedRun, last: RunRecord | None) -> dict[str, list[str]]:
    """Return the outputs whose records go: as requested, or by a request whose run has not got so far."""
    own = outputs_to_empty(run.plan)
    if request.fresh or last is None:
        return own if request.fresh and request.delete_outputs else {}
    return {system: [a for a in own.get(system, ()) if a in addresses] for system, addresses in last.emptied.items()}


def _plan_new(
    request: RunRequest,
    parsed: ParsedApp,
    systems: Systems,
    store: MetadataStore,
    last: RunRecord | None,
) -> tuple[PlannedRun, RunRecord]:
    run_id = request.run_id
    if parsed.app is not None and parsed.app.spec.run_id is not None:
        run_id = parsed.app.spec.run_id
    run = plan_new_run(parsed, systems, run_id, str(request.state))
    if last is not None and last.prepared and last.run_id == run_id:
        raise RuntimeFailure(
            f"spec.runId: run {run_id} has state already; set a new run id, or none, to start from the beginning"
        )
    epoch = 1 if last is None else last.epoch + 1
    return run, build_new_record(run, systems, epoch, last, _previous_ids(store))


def _previous_ids(store: MetadataStore) -> tuple[str, ...]:
    """Return the transactional ids of the last run, as far as its job model can be read: a new run must be possible."""
    with suppress(JobModelUnreadableError):
        stored = read_job_model(store)
        return () if stored is None else stored.model.transactional_ids
    return ()


def _plan_continued(
    parsed: ParsedApp, context: ExecutionContext, store: MetadataStore, last: RunRecord
) -> tuple[PlannedRun, RunRecord]:
    systems, stored = context.systems, read_job_model(store)
    if stored is None or stored.model.run_id != last.run_id:
        raise JobModelDamagedError(f"the job model of run {last.run_id} is gone")
    if parsed.app is not None:
        check_edits(last.spec, parsed.app, last.run_id)
    run = replan_run(parsed, systems, stored.model, context.clock.time_of_day())
    found = file_names(run.plan, systems)
    taken = take_bounded_ends(run.plan, systems, last.ends, last.side_inputs)
    check_side_input_counts(run.plan, taken)
    _check_files(last, {name: names for name, names in found.items() if name not in taken.side_inputs})
    return run, msgspec.structs.replace(
        last,
        epoch=last.epoch + 1,
        spec=_spec(run.plan.app),
        ends=taken.ends,
        files=found,
        file_stats=input_file_stats(run.plan, systems),
        side_inputs=taken.side_inputs,
        notices=describe_changes(run.plan, last.side_inputs, taken.side_inputs),
    )


def _check_files(last: RunRecord, found: dict[str, list[str]]) -> None:
    """Refuse files that came or went under a run: a partition's number would mean another file."""
    for stream in last.files.keys() & found.keys():
        changed = sorted(set(last.files[stream]) ^ set(found[stream]))
        if changed:
            raise RuntimeFailure(
                f"stream {stream}: the files are not those that run {last.run_id} began with ({', '.join(changed)}): "
                "put them back as they were to continue, or start from the beginning with --fresh"
            )


def _spec(app: StreamApp) -> str:
    return app.spec.model_dump_json(by_alias=True)
