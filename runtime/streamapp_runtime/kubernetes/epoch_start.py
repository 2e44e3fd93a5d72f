"""The start of an epoch on Kubernetes (docs/protocols.md, Start of a run): a run is started, or continues."""

import msgspec

from streamapp_core.metadata_store import MetadataStore
from streamapp_core.spec.processors import DeletionPolicy
from streamapp_runtime.driver.build_run_record import build_edited_record, build_new_record
from streamapp_runtime.driver.create_streams import delete_streams
from streamapp_runtime.driver.fresh_start import describe_new_run
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.prepare_outputs import Check
from streamapp_runtime.driver.run_record import RunRecord, load_record
from streamapp_runtime.driver.run_recovery import coordinator_of_run
from streamapp_runtime.driver.run_steps import begin_epoch, create_run
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.kubernetes.job_model_follower import LaunchedApp
from streamapp_runtime.run_coordinator import Coordinator


def start_epoch(launched: LaunchedApp, run: PlannedRun, store: MetadataStore, context: ExecutionContext) -> RunRecord:
    """Take over from all earlier drivers and processors, and create the run's streams; return its record.

    The Kubernetes operator has advanced the epoch and activated the job model before.

    Raises:
        Superseded: a later epoch has begun.
        StreamSystemError: a system does not do what it should.
        KubernetesError: the record can't be read or written.
    """
    app = run.plan.app

    def delete_previous(record: RunRecord, check: Check) -> None:
        if app.spec.deletion_policy is DeletionPolicy.DELETE:
            check()
            delete_streams(record.outdated, app, context.systems)

    record = _record(launched, run, load_record(store), context)
    begin_epoch(record, run, store, context)
    return create_run(record, run, store, context, delete_previous)


def _record(launched: LaunchedApp, run: PlannedRun, last: RunRecord | None, context: ExecutionContext) -> RunRecord:
    launch, plan = launched.launch, run.plan
    if last is not None and last.run_id == launch.run_id:
        return build_edited_record(last, run, context.systems, launch.epoch)
    own = Coordinator(plan.app, plan.default_system, context.systems)
    previous = own if last is None else coordinator_of_run(last, plan, context.systems)
    record = build_new_record(run, context.systems, launch.epoch, last, previous.announced_ids())
    if last is None:
        return record
    deleted = plan.app.spec.deletion_policy is DeletionPolicy.DELETE
    notice = describe_new_run(record, plan, context.systems, deleted=deleted)
    return msgspec.structs.replace(record, notices=(notice,))
