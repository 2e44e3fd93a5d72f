"""Drivers whose folder does not tell all: the coordinator stream knows of later epochs, and of runs begun elsewhere.

To begin anew silently would leave a run's state behind, and to make its job model up again would move keys (design 6).
"""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from streamapp_core.job_model.job_model_errors import JobModelUnreadableError
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.app_streams import changelog_stream
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.errors import JobModelLost
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import open_transactional_admin

Addresses = Mapping[str, list[str]]
"""Addresses of streams, by system."""


def after_newest(record: RunRecord, coordinator: Coordinator) -> RunRecord:
    """Let the epoch of a run be later than that of the newest driver there has been, whoever that was."""
    newest = coordinator.newest()
    return record if newest is None else msgspec.structs.replace(record, epoch=max(record.epoch, newest.epoch + 1))


def instead_of_lost(record: RunRecord, coordinator: Coordinator, plan: Plan, folder: Path, *, fresh: bool) -> RunRecord:
    """Let a new run take the place of one of which nothing is known here; `fresh`: someone has said so.

    Raises:
        JobModelLost: that run has not completed, its streams are there, and nobody has said that they may go.
    """
    name = plan.app.metadata.name
    own = {plan.default_system: [changelog_stream(plan).address]}
    if _existing(own, plan.app, folder):
        raise JobModelLost(
            f"run {record.run_id} of {name} has state already ({own[plan.default_system][0]}), and this folder has no "
            "record of it: bring back the one that has (--state-dir names it), or set another spec.runId to begin anew"
        )
    newest = coordinator.newest()
    if newest is None:
        return record
    found = _existing(newest.made, plan.app, folder)
    if found and not newest.completed and not fresh:
        raise JobModelLost(
            f"run {newest.run_id} of {name} has not completed, its streams are there ({', '.join(found)}), and this "
            "folder has no record of it: bring back the one that has (--state-dir names it) to go on with the run, or "
            "begin anew with --fresh, which deletes them"
        )
    return msgspec.structs.replace(
        record,
        outdated=merged(record.outdated, newest.made),
        outdated_ids=(*record.outdated_ids, *announced_ids(coordinator)),
    )


def merged(left: Addresses, right: Addresses) -> dict[str, list[str]]:
    """Put addresses together, each once."""
    return {
        system: list(dict.fromkeys((*left.get(system, ()), *right.get(system, ())))) for system in {**left, **right}
    }


def announced_ids(coordinator: Coordinator) -> tuple[str, ...]:
    """Give the transactional ids of the newest driver's job model, as far as it can be read."""
    with suppress(JobModelUnreadableError):
        model = coordinator.job_model()
        return () if model is None else model.transactional_ids
    return ()


def _existing(addresses: Addresses, app: StreamApp, folder: Path) -> list[str]:
    """Tell which of these streams exist, in the systems that the app still has."""
    existing: list[str] = []
    for name, streams in addresses.items():
        system = app.spec.systems.get(name)
        if system is None or not system.kind.transactional:
            continue
        asked = [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
        with closing(open_transactional_admin(name, system, folder)) as admin:
            existing += sorted(admin.partitions(asked))
    return existing
