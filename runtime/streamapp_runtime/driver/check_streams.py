"""Checks of the streams that a run finds: that they are the ones it knows, and that no other run writes to them."""

from contextlib import closing

from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_runtime.app_streams import by_system, changelog_stream, descriptor
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.output_tables import table_identities
from streamapp_systems.registry import Systems


def check_shared_streams_empty(plan: Plan, systems: Systems) -> None:
    """Refuse a new run whose rows would follow those of another one in a stream that other apps read.

    Raises:
        RuntimeFailure: a stream has been written to already.
        StreamSystemError: its system can't be asked.
    """
    shared = [descriptor(s) for s in plan.streams.values() if s.shared and s.role is StreamRole.INTERMEDIATE]
    for system, streams in by_system(shared).items():
        with closing(systems.open_transactional_admin(system, plan.app.system(system))) as admin:
            counts = admin.partitions(streams)
            ends = admin.end_offsets([stream for stream in streams if stream.name in counts])
        written = {ssp.stream for ssp, end in ends.items() if end > 0}
        used = sorted(stream.address for stream in streams if stream.name in written)
        if used:
            raise RuntimeFailure(
                f"{', '.join(used)} in system {system} has been written to by another run, and other apps may read it: "
                "they would take the rows of both runs for one. Give this run another name in partitionBy.stream, or "
                "delete the stream and start new runs of its readers, too"
            )


def stream_identities(plan: Plan, systems: Systems) -> dict[str, str]:
    """Return the identities of the streams that a run reads and of its changelog, by name, and of the tables it writes.

    A stream that was recreated at the same address has another identity: what a run knows of the previous one, offsets
    above all, says nothing about it.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    read = (s for s in plan.streams.values() if s.role is not StreamRole.OUTPUT)
    found: dict[str, str] = {}
    for system, streams in by_system([*map(descriptor, read), changelog_stream(plan)]).items():
        with closing(systems.open_admin(system, plan.app.system(system))) as admin:
            found |= admin.identities(streams)
    return {**found, **table_identities(plan, systems)}


def check_identities(record: RunRecord, run: PlannedRun, systems: Systems) -> None:
    """Refuse to continue a run whose streams were deleted or recreated since its record was written.

    Raises:
        RuntimeFailure: a stream was.
        StreamSystemError: a system can't be asked.
    """
    found = stream_identities(run.plan, systems)
    changed = sorted(name for name in found if record.identities.get(name, found[name]) != found[name])
    streams = run.plan.streams
    shared = [name for name in changed if name in streams and streams[name].shared]
    if shared:
        raise RuntimeFailure(
            f"{', '.join(f'spec.streams.{name}' for name in shared)}: another app has recreated its stream since run "
            f"{record.run_id} began, which has read rows of the previous one: start a new run of this app, too"
        )
    if changed:
        changelog = changelog_stream(run.plan)
        known = {changelog.name: changelog.address} | {name: stream.address for name, stream in streams.items()}
        addresses = [known.get(name, name) for name in changed]
        raise RuntimeFailure(
            f"{', '.join(addresses)}: deleted or recreated since run {record.run_id} began: its offsets and state "
            "belong to the previous stream, and to continue would lose rows, or read some twice. Start a new run "
            "(--fresh, or another spec.runId)"
        )
