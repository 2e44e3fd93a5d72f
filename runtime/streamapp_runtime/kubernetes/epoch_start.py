"""The start of an epoch on Kubernetes (`docs/protocols.md`, Start of a run): a run is begun, or goes on."""

from pathlib import Path

from streamapp_core.metadata_store import MetadataStore
from streamapp_core.spec.processors import DeletionPolicy
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    add_streams,
    drop_streams,
    make_outputs,
    make_streams,
)
from streamapp_runtime.driver.run_record import RunRecord, load_record, save_record
from streamapp_runtime.driver.run_recovery import announced_ids
from streamapp_runtime.driver.takeover import (
    announce,
    edited_record,
    fence_former,
    find_streams_again,
    made_ready,
    new_record,
    with_added,
)
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.kubernetes.job_model_follower import Launched
from streamapp_runtime.run_coordinator import Coordinator


def begin(launched: Launched, prepared: PreparedRun, store: MetadataStore, folder: Path) -> RunRecord:
    """Take over from all drivers and processors there were, and see to it that the run's streams are there.

    The Kubernetes operator has advanced the epoch and put the job model in force before.

    Raises:
        Superseded: a later epoch has begun.
        StreamSystemError: a system does not do what it should.
        KubernetesError: the record can't be read or written.
    """
    plan = prepared.plan
    record = _record(launched, prepared, load_record(store), folder)
    with fail_point(FailPoint.RUN_RECORD):
        save_record(store, record)
        if record.prepared:
            find_streams_again(record, prepared, folder)
        announce(record, prepared, folder)
    fence_former(record, prepared, folder)
    with fail_point(FailPoint.RUN_STREAMS):
        if record.prepared:
            add_streams(prepared, folder)
            return with_added(record, store, prepared, folder)
        if plan.app.spec.deletion_policy is DeletionPolicy.DELETE:
            drop_streams(record.outdated, plan.app, folder)
        make_outputs(plan, folder)
        make_streams(prepared, folder)
        return made_ready(record, store, prepared, folder)


def _record(launched: Launched, prepared: PreparedRun, last: RunRecord | None, folder: Path) -> RunRecord:
    launch, plan = launched.launch, prepared.plan
    if last is not None and last.run_id == launch.run_id:
        return edited_record(last, prepared, folder, launch.epoch)
    former_ids = () if last is None else announced_ids(Coordinator(plan.app, plan.default_system, folder))
    return new_record(prepared, folder, launch.epoch, last, former_ids)
