"""Recovery of runs that the driver's folder does not know: the coordinator stream has later epochs, and other runs.

To start another run silently would leave the state of the unknown one behind, and to rebuild its job model would move
keys (docs/host-affinity.md).
"""

from collections.abc import Mapping
from contextlib import closing

import msgspec

from streamapp_core.naming import coordinator_stream_address
from streamapp_core.plan.delivery import default_system
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.app import StreamApp, StreamAppSpec
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.app_streams import changelog_stream
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.errors import JobModelLost
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import Systems

Addresses = Mapping[str, list[str]]
"""Addresses of streams, by system."""


def advance_epoch(record: RunRecord, coordinator: Coordinator) -> RunRecord:
    """Advance the epoch of a run beyond that of the newest driver that has announced itself, wherever that was."""
    newest = coordinator.newest()
    return record if newest is None else msgspec.structs.replace(record, epoch=max(record.epoch, newest.epoch + 1))


def replace_unknown_run(
    record: RunRecord, coordinator: Coordinator, plan: Plan, systems: Systems, *, fresh: bool
) -> RunRecord:
    """Add to the record of a new run what a run has left of which this folder has no record.

    `fresh`: the user has asked for a new run, whatever there is.

    Raises:
        JobModelLost: that run has not completed, its streams exist, and nobody has said that they may be deleted.
    """
    name = plan.app.metadata.name
    own = {plan.default_system: [changelog_stream(plan).address]}
    if find_existing(own, plan.app, systems):
        raise JobModelLost(
            f"run {record.run_id} of {name} has state already ({own[plan.default_system][0]}), and this folder has no "
            "record of it: bring back the one that has (--state-dir names it), or start a new run with another "
            "spec.runId"
        )
    newest = coordinator.newest()
    if newest is None:
        return record
    found = find_existing(newest.made, plan.app, systems)
    if found and not newest.completed and not fresh:
        raise JobModelLost(
            f"run {newest.run_id} of {name} has not completed, its streams exist ({', '.join(found)}), and this "
            "folder has no record of it: bring back the one that has (--state-dir names it) to continue the run, or "
            "start a new run with --fresh, which deletes them"
        )
    return msgspec.structs.replace(
        record,
        outdated=merge_addresses(record.outdated, newest.made),
        outdated_ids=(*record.outdated_ids, *coordinator.announced_ids()),
    )


def coordinator_of_run(record: RunRecord, plan: Plan, systems: Systems) -> Coordinator:
    """Return the coordinator that the run of a record has, whose names and default system may be other ones now."""
    spec = StreamAppSpec.model_validate_json(record.spec)
    system = default_system(spec)
    known = system if system in plan.app.spec.systems else plan.default_system
    names = plan.app.spec.model_copy(update={"name_prefix": spec.name_prefix})
    return Coordinator(plan.app.model_copy(update={"spec": names}), known, systems)


def outdated_coordinators(record: RunRecord, plan: Plan, systems: Systems) -> list[Coordinator]:
    """Return the coordinators that earlier runs have left, under another prefix or in another system.

    They are known by the addresses of their streams, in systems that the app still has.
    """
    ending = coordinator_stream_address(f".{plan.app.metadata.name}")
    beginnings = [
        (system, address.removesuffix(ending))
        for system, addresses in record.outdated.items()
        for address in addresses
        if system in plan.app.spec.systems and address.endswith(ending)
    ]
    return [
        Coordinator(
            plan.app.model_copy(update={"spec": plan.app.spec.model_copy(update={"name_prefix": beginning})}),
            system,
            systems,
        )
        for system, beginning in beginnings
    ]


def outdated_addresses(last: RunRecord, plan: Plan, systems: Systems) -> dict[str, list[str]]:
    """Return the streams that a new run leaves behind: those of earlier runs, and their coordinator stream.

    That one stays, and is not among them, if it is the new run's, too.
    """
    own = Coordinator(plan.app, plan.default_system, systems).stream
    before = coordinator_of_run(last, plan, systems).stream
    left = {} if (before.system, before.address) == (own.system, own.address) else {before.system: [before.address]}
    return merge_addresses(merge_addresses(last.outdated, last.made), left)


def merge_addresses(left: Addresses, right: Addresses) -> dict[str, list[str]]:
    """Merge addresses, each once."""
    return {
        system: list(dict.fromkeys((*left.get(system, ()), *right.get(system, ())))) for system in {**left, **right}
    }


def find_existing(addresses: Addresses, app: StreamApp, systems: Systems) -> list[str]:
    """Return which of these streams exist, in the systems that the app still has."""
    existing: list[str] = []
    for name, streams in addresses.items():
        if name not in app.spec.systems or not app.spec.systems[name].kind.transactional:
            continue
        asked = [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
        with closing(systems.open_transactional_admin(name, app.system(name))) as admin:
            existing += sorted(admin.partitions(asked))
    return existing
