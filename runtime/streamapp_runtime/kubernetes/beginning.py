"""The start of an epoch on Kubernetes (`docs/protocols.md`, Start of a run): a run is begun, or goes on."""

import time
from collections import defaultdict
from pathlib import Path

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_core.spec.processors import DeletionPolicy
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.driver.lost import announced_ids, merged
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    drop_streams,
    expand_changelog,
    fence,
    made_streams,
    make_outputs,
    make_streams,
)
from streamapp_runtime.driver.records import RunRecord, driver_record, load_record, save_record
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.kubernetes.following import Launched
from streamapp_runtime.streams import bounded_ends, file_names
from streamapp_systems.protocols import Transactional


def begin(launched: Launched, prepared: PreparedRun, store: MetadataStore, folder: Path) -> RunRecord:
    """Take over from all drivers and processors there were, and see to it that the run's streams are there.

    The Kubernetes operator has advanced the epoch and put the job model in force before.

    Raises:
        Superseded: a later epoch has begun.
        StreamSystemError: a system does not do what it should.
        KubernetesError: the record can't be read or written.
    """
    plan = prepared.plan
    coordinator = Coordinator(plan.app, plan.default_system, folder)
    record = _record(launched, prepared, load_record(store), coordinator, folder)
    with Taking(Step.RUN_RECORD):
        save_record(store, record)
        if record.prepared:
            expand_changelog(prepared, folder)
        coordinator.announce(driver_record(record), prepared.model, time.time_ns() // 1_000_000)
    with Taking(Step.RUN_FENCE):
        ids = sorted({*prepared.model.transactional_ids, *record.outdated_ids})
        owners = [Transactional(id=id_, epoch=record.epoch) for id_ in ids]
        fence(plan.app, [plan.default_system, *record.outdated], owners, folder)
    if record.prepared:
        return record
    with Taking(Step.RUN_STREAMS):
        if plan.app.spec.deletion_policy is DeletionPolicy.DELETE:
            drop_streams(record.outdated, plan.app, folder)
        make_outputs(plan, folder)
        make_streams(prepared, folder)
        record = msgspec.structs.replace(record, prepared=True, outdated={}, outdated_ids=())
        save_record(store, record)
    return record


def _record(
    launched: Launched, prepared: PreparedRun, last: RunRecord | None, coordinator: Coordinator, folder: Path
) -> RunRecord:
    launch, plan = launched.launch, prepared.plan
    spec = plan.app.spec.model_dump_json(by_alias=True)
    if last is not None and last.run_id == launch.run_id:
        return msgspec.structs.replace(last, epoch=launch.epoch, spec=spec, summary=None)
    made: dict[str, list[str]] = defaultdict(list)
    for stream in made_streams(prepared):
        made[stream.system].append(stream.address)
    return RunRecord(
        run_id=launch.run_id,
        epoch=launch.epoch,
        spec=spec,
        ends=bounded_ends(plan, folder),
        files=file_names(plan, folder),
        made=made,
        outdated={} if last is None else merged(last.outdated, last.made),
        outdated_ids=() if last is None else (*last.outdated_ids, *announced_ids(coordinator)),
    )
