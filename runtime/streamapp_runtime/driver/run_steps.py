"""The steps run-1 to run-4 of a run's start and end (docs/protocols.md): on this machine and on Kubernetes.

Each may be repeated after a death in it.
"""

from collections.abc import Callable

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_runtime.driver.activate_job_model import announce_epoch
from streamapp_runtime.driver.check_streams import check_identities, stream_identities
from streamapp_runtime.driver.create_streams import (
    create_added_streams,
    create_dead_letters,
    create_streams,
    expand_changelog,
)
from streamapp_runtime.driver.fencing import fence_previous_epochs
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.prepare_outputs import Check, claim_outputs, prepare_outputs, remove_uncommitted_parts
from streamapp_runtime.driver.retry_tracker import retry_until_back
from streamapp_runtime.driver.run_record import RunRecord, driver_record, save_record
from streamapp_runtime.driver.run_recovery import outdated_coordinators
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.output_tables import create_tables
from streamapp_runtime.registered_key_schemas import register_key_schemas
from streamapp_runtime.registered_schemas import register_schemas
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.registry import Systems

Activate = Callable[[JobModel], None]
"""Makes a job model the active one, where the driver does that itself."""

DeletePrevious = Callable[[RunRecord, Check], None]
"""Deletes what earlier runs have left and `outdated` lists, after a check that no later driver has taken over."""


def already_active(_: JobModel) -> None:
    """Do nothing: the Kubernetes operator has made the job model the active one."""


def begin_epoch(
    record: RunRecord,
    run: PlannedRun,
    store: MetadataStore,
    context: ExecutionContext,
    activate: Activate = already_active,
) -> None:
    """Save the record of the run, activate the job model and announce the epoch (run-1); fence earlier epochs (run-2).

    Raises:
        RuntimeFailure: a stream was deleted or recreated since the run was prepared.
        Superseded: a later epoch has begun.
        StreamSystemError: a system does not do what it should.
    """
    with fail_point(FailPoint.RUN_RECORD):
        save_record(store, record)
        if record.prepared:
            check_identities(record, run, context.systems)
            expand_changelog(run, context.systems)
            create_dead_letters(run, context.systems)
            register_schemas(run.plan, context.systems)
            register_key_schemas(run.plan, context.systems)
        activate(run.model)
        announce_epoch(record, run, context)
    with fail_point(FailPoint.RUN_FENCE):
        for coordinator in outdated_coordinators(record, run.plan, context.systems):
            coordinator.supersede(driver_record(record), context.clock)
        fence_previous_epochs(record, run, context.systems)


def create_run(
    record: RunRecord, run: PlannedRun, store: MetadataStore, context: ExecutionContext, delete_previous: DeletePrevious
) -> RunRecord:
    """Create the streams and outputs of a new run, or those that an edit has added; save that (run-3).

    Return the record that says that the run is prepared. Before each change this driver makes sure that it is the
    newest.

    Raises:
        Superseded: a later epoch has begun.
        RuntimeFailure: a worker of an earlier run does not end.
        StreamSystemError: a system does not do what it should.
    """
    check = _check_newest(record, run, context.systems)
    with fail_point(FailPoint.RUN_STREAMS):
        if record.prepared:
            check()
            create_added_streams(run, context.systems)
            claim_outputs(run.plan, context.systems)
        else:
            delete_previous(record, check)
            prepare_outputs(run.plan, context.systems, check)
            check()
            register_schemas(run.plan, context.systems)
            register_key_schemas(run.plan, context.systems)
            create_streams(run, context.systems)
        create_tables(run.plan, context.systems)
        identities = stream_identities(run.plan, context.systems)
        created = msgspec.structs.replace(
            record, prepared=True, outdated={}, outdated_ids=(), emptied={}, identities=identities
        )
        if created != record:
            save_record(store, created)
    return created


def complete_run(
    record: RunRecord,
    run: PlannedRun,
    store: MetadataStore,
    context: ExecutionContext,
    timeouts: Timeouts | None = None,
) -> None:
    """Save that a run has completed; the record has its summary (run-4). A system that is away is waited for.

    Raises:
        Superseded: a later epoch has begun.
        SystemAway: a system has been away for too long.
    """
    with fail_point(FailPoint.RUN_FINISH):
        retry_until_back(lambda: _announce_end(record, run, context), timeouts or Timeouts(), context.clock)
        save_record(store, record)


def _announce_end(record: RunRecord, run: PlannedRun, context: ExecutionContext) -> None:
    remove_uncommitted_parts(run.plan, context.systems, _check_newest(record, run, context.systems))
    announce_epoch(record, run, context)


def _check_newest(record: RunRecord, run: PlannedRun, systems: Systems) -> Check:
    coordinator = Coordinator(run.plan.app, run.plan.default_system, systems)
    return lambda: coordinator.raise_if_superseded(record.epoch, record.run_id)
