"""The streams of a run: created at its start, added by edits, expanded for new tasks, and deleted after it."""

from collections.abc import Mapping, Sequence
from contextlib import closing

from streamapp_core.naming import DEAD_LETTERS
from streamapp_core.plan.plan import StreamRole
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.app_streams import by_system, changelog_stream, dead_letter_stream, descriptor
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import Systems


def streams_of_run(run: PlannedRun) -> dict[StreamDescriptor, int]:
    """Return the streams that come and go with a run, with partition counts: intermediate ones and the changelog.

    Those that other apps read are created, too, and stay.
    """
    intermediate = (s for s in run.plan.streams.values() if s.role is StreamRole.INTERMEDIATE and not s.shared)
    counts = {descriptor(stream): stream.partitions for stream in intermediate}
    return counts | {changelog_stream(run.plan): len(run.model.tasks)}


def create_streams(run: PlannedRun, systems: Systems) -> None:
    """Create the streams of a run where they are missing, its inputs and outputs in logs too.

    Inputs and outputs may have grown since the run was planned.

    Raises:
        StreamSystemError: a stream exists with another partition count.
    """
    growing = {s.name for s in run.plan.streams.values() if s.role is not StreamRole.INTERMEDIATE and not s.shared}
    growing.add(DEAD_LETTERS)
    for system, counts in _created_streams(run).items():
        with closing(systems.open_admin(system, run.plan.app.system(system))) as admin:
            outside = [stream for stream in counts if stream.name in growing]
            found = admin.partitions(outside) if outside else {}
            admin.create({stream: count for stream, count in counts.items() if found.get(stream.name, 0) <= count})


def create_added_streams(run: PlannedRun, systems: Systems) -> None:
    """Create the streams that an edit has added to a run; existing ones may have grown since it was planned.

    A changelog that is gone is not created: a task that took an empty one for its own would begin with no state.

    Raises:
        StreamSystemError: a system can't be asked, or does not create them.
    """
    changelog = changelog_stream(run.plan)
    for system, counts in _created_streams(run).items():
        with closing(systems.open_admin(system, run.plan.app.system(system))) as admin:
            existing = admin.partitions(list(counts)).keys() | {changelog.name}
            admin.create({stream: count for stream, count in counts.items() if stream.name not in existing})


def create_dead_letters(run: PlannedRun, systems: Systems) -> None:
    """Create the stream of records that can't be read where an app that continues has come to keep them.

    Raises:
        StreamSystemError: it can't be created.
    """
    stream = dead_letter_stream(run.plan)
    if stream is None:
        return
    with closing(systems.open_transactional_admin(stream.system, run.plan.app.system(stream.system))) as admin:
        if not admin.partitions([stream]):
            admin.create({stream: 1})


def expand_changelog(run: PlannedRun, systems: Systems) -> None:
    """Expand the changelog of a run that continues to a partition for every task, before a job model with new tasks.

    Raises:
        StreamSystemError: it can't be expanded.
    """
    plan, stream = run.plan, changelog_stream(run.plan)
    needed = max(run.model.changelog.values()) + 1
    with closing(systems.open_transactional_admin(stream.system, plan.app.system(stream.system))) as admin:
        if admin.partitions([stream]).get(stream.name, needed) < needed:
            admin.expand(stream, needed)


def delete_streams(addresses: Mapping[str, Sequence[str]], app: StreamApp, systems: Systems) -> None:
    """Delete streams that were created for earlier runs, by system, where the app still has the system."""
    for name, streams in addresses.items():
        if name not in app.spec.systems or not app.spec.systems[name].kind.transactional:
            continue
        gone = [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
        with closing(systems.open_transactional_admin(name, app.system(name))) as admin:
            admin.delete(gone)


def _created_streams(run: PlannedRun) -> Mapping[str, Mapping[StreamDescriptor, int]]:
    """Return the partition counts of the streams that an app may create, by system."""
    lasting = (s for s in run.plan.streams.values() if s.shared or s.spec is not None)
    made = (
        s for s in lasting if s.system_kind.transactional or (s.system_kind.grows and s.role is not StreamRole.OUTPUT)
    )
    outside = {descriptor(s): s.partitions for s in made}
    dead_letters = dead_letter_stream(run.plan)
    counts = streams_of_run(run) | outside | ({} if dead_letters is None else {dead_letters: 1})
    return {system: {stream: counts[stream] for stream in streams} for system, streams in by_system(counts).items()}
