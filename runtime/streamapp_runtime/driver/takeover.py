"""What the start and the end of a run have in common, on this machine and on Kubernetes (`docs/protocols.md`)."""

import time
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.driver.lost import merged
from streamapp_runtime.driver.prepare import PreparedRun, fence, made_streams, tidy_outputs
from streamapp_runtime.driver.records import RunRecord, driver_record, save_record
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.streams import bounded_ends, file_names
from streamapp_systems.protocols import Transactional


def new_record(
    prepared: PreparedRun, folder: Path, epoch: int, last: RunRecord | None, former_ids: Collection[str]
) -> RunRecord:
    """Begin the record of a new run: its streams' ends are taken now, and what `last` left behind is outdated.

    `former_ids` are the transactional ids of the last run.

    Raises:
        RuntimeFailure: another run has written to a stream that other apps read.
        StreamSystemError: a system can't be asked.
    """
    plan = prepared.plan
    made: dict[str, list[str]] = defaultdict(list)
    for stream in made_streams(prepared):
        made[stream.system].append(stream.address)
    return RunRecord(
        run_id=plan.run_id,
        epoch=epoch,
        spec=plan.app.spec.model_dump_json(by_alias=True),
        ends=bounded_ends(plan, folder),
        files=file_names(plan, folder),
        made=made,
        outdated={} if last is None else merged(last.outdated, last.made),
        outdated_ids=() if last is None else (*last.outdated_ids, *former_ids),
    )


def announce(record: RunRecord, prepared: PreparedRun, folder: Path) -> None:
    """Say in the coordinator stream that this driver is the newest, and which job model is in force.

    Raises:
        Superseded: a later one has said so.
    """
    coordinator = Coordinator(prepared.plan.app, prepared.plan.default_system, folder)
    coordinator.announce(driver_record(record), prepared.model, time.time_ns() // 1_000_000)


def fence_former(record: RunRecord, prepared: PreparedRun, folder: Path) -> None:
    """Fence every id that this run or an outdated one ever used (run-2).

    Raises:
        Superseded: another driver has taken over.
    """
    with Taking(Step.RUN_FENCE):
        ids = sorted({*prepared.model.transactional_ids, *record.outdated_ids})
        owners = [Transactional(id=id_, epoch=record.epoch) for id_ in ids]
        fence(prepared.plan.app, [prepared.plan.default_system, *record.outdated], owners, folder)


def made_ready(record: RunRecord, store: MetadataStore) -> RunRecord:
    """Note that a run is prepared, and that nothing outdated is left."""
    record = msgspec.structs.replace(record, prepared=True, outdated={}, outdated_ids=())
    save_record(store, record)
    return record


def finish(record: RunRecord, prepared: PreparedRun, store: MetadataStore, folder: Path) -> None:
    """End a run that has completed; the record has its summary (run-4).

    Raises:
        Superseded: a later epoch has begun.
    """
    with Taking(Step.RUN_FINISH):
        tidy_outputs(prepared.plan, folder)
        announce(record, prepared, folder)
        save_record(store, record)
