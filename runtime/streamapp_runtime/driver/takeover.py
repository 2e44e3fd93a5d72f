"""What the start and the end of a run have in common, on this machine and on Kubernetes (`docs/protocols.md`)."""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import msgspec

from streamapp_core.metadata_store import MetadataStore
from streamapp_runtime.app_streams import bounded_end_offsets, changelog_stream, file_names, start_offsets
from streamapp_runtime.driver.prepare import (
    PreparedRun,
    check_shared_streams,
    expand_changelog,
    fence,
    identities,
    made_streams,
    tidy_outputs,
)
from streamapp_runtime.driver.processor_decisions import Timeouts
from streamapp_runtime.driver.retry_tracker import until_back
from streamapp_runtime.driver.run_record import RunRecord, driver_record, save_record
from streamapp_runtime.driver.run_recovery import merged
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.clock import time_of_day
from streamapp_systems.protocols import TransactionOwner


def new_record(
    prepared: PreparedRun, folder: Path, epoch: int, last: RunRecord | None, former_ids: Collection[str]
) -> RunRecord:
    """Begin the record of a new run: what `last` left behind is outdated.

    Where its streams end, and where it begins to read, are taken now. `former_ids` are the transactional ids of the
    last run.

    Raises:
        RuntimeFailure: another run has written to a stream that other apps read.
        StreamSystemError: a system can't be asked.
    """
    plan = prepared.plan
    check_shared_streams(plan, folder)
    return RunRecord(
        run_id=plan.run_id,
        epoch=epoch,
        spec=plan.app.spec.model_dump_json(by_alias=True),
        ends=bounded_end_offsets(plan, folder, {}),
        starts=start_offsets(plan, folder, {}),
        files=file_names(plan, folder),
        made=_addresses(prepared),
        outdated={} if last is None else merged(last.outdated, last.made),
        outdated_ids=() if last is None else (*last.outdated_ids, *former_ids),
    )


def edited_record(record: RunRecord, prepared: PreparedRun, folder: Path, epoch: int) -> RunRecord:
    """Go on with a run, its spec perhaps edited: what is known of its streams stays, of new ones it is taken now.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    plan = prepared.plan
    return msgspec.structs.replace(
        record,
        epoch=epoch,
        spec=plan.app.spec.model_dump_json(by_alias=True),
        ends=bounded_end_offsets(plan, folder, record.ends),
        starts=start_offsets(plan, folder, record.starts),
        files={name: record.files.get(name, files) for name, files in file_names(plan, folder).items()},
        made=merged(record.made, _addresses(prepared)),
        summary=None,
    )


def _addresses(prepared: PreparedRun) -> dict[str, list[str]]:
    made: dict[str, list[str]] = defaultdict(list)
    for stream in made_streams(prepared):
        made[stream.system].append(stream.address)
    return made


def announce(record: RunRecord, prepared: PreparedRun, folder: Path) -> None:
    """Say in the coordinator stream that this driver is the newest, and which job model is in force.

    Raises:
        Superseded: a later one has said so.
    """
    coordinator = Coordinator(prepared.plan.app, prepared.plan.default_system, folder)
    coordinator.announce(driver_record(record), prepared.model, time_of_day())


def fence_former(record: RunRecord, prepared: PreparedRun, folder: Path) -> None:
    """Fence every id that this run or an outdated one ever used (run-2).

    Raises:
        Superseded: another driver has taken over.
    """
    with fail_point(FailPoint.RUN_FENCE):
        ids = sorted({*prepared.model.transactional_ids, *record.outdated_ids})
        owners = [TransactionOwner(id=id_, epoch=record.epoch) for id_ in ids]
        fence(prepared.plan.app, [prepared.plan.default_system, *record.outdated], owners, folder)


def made_ready(record: RunRecord, store: MetadataStore, prepared: PreparedRun, folder: Path) -> RunRecord:
    """Note that a run is prepared, which streams it has, and that nothing outdated is left."""
    found = identities(prepared.plan, folder)
    record = msgspec.structs.replace(record, prepared=True, outdated={}, outdated_ids=(), identities=found)
    save_record(store, record)
    return record


def with_added(record: RunRecord, store: MetadataStore, prepared: PreparedRun, folder: Path) -> RunRecord:
    """Note which streams a run has after an edit has added some: those it had were found again."""
    found = identities(prepared.plan, folder)
    if found != record.identities:
        record = msgspec.structs.replace(record, identities=found)
        save_record(store, record)
    return record


def find_streams_again(record: RunRecord, prepared: PreparedRun, folder: Path) -> None:
    """See to it that a run that goes on finds its streams as they were, and a changelog for every task.

    Raises:
        RuntimeFailure: a stream is gone, or was made anew since.
        StreamSystemError: a system can't be asked, or the changelog can't be expanded.
    """
    found = identities(prepared.plan, folder)
    anew = sorted(name for name in found if record.identities.get(name, found[name]) != found[name])
    streams = prepared.plan.streams
    others = [name for name in anew if name in streams and streams[name].shared]
    if others:
        raise RuntimeFailure(
            f"{', '.join(f'spec.streams.{name}' for name in others)}: another app has made its stream anew since "
            f"run {record.run_id} began, which knows rows of the one before: begin a new run of this app, too"
        )
    if anew:
        addresses = [
            streams[name].address if name in streams else changelog_stream(prepared.plan).address for name in anew
        ]
        raise RuntimeFailure(
            f"{', '.join(addresses)}: deleted, or made anew, since run {record.run_id} began: its offsets and state "
            "are about what was there before, and to go on would lose rows, or read some twice. Begin a new run "
            "(--fresh, or another spec.runId)"
        )
    expand_changelog(prepared, folder)


def finish(
    record: RunRecord, prepared: PreparedRun, store: MetadataStore, folder: Path, patience: Timeouts | None = None
) -> None:
    """End a run that has completed; the record has its summary (run-4). A system that is away is waited for.

    Raises:
        Superseded: a later epoch has begun.
        ProcessorFailed: a system has been away for too long.
    """
    with fail_point(FailPoint.RUN_FINISH):
        tidy_outputs(prepared.plan, folder)
        until_back(lambda: announce(record, prepared, folder), patience or Timeouts())
        save_record(store, record)
