"""From a spec to a run that can start: systems asked, plan made, streams and output folders made ready."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.spec.streams import StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import by_system, changelog_stream, count_partitions, descriptor
from streamapp_runtime.driver.supported_features import check_supported
from streamapp_runtime.errors import PlanRefused, RuntimeFailure
from streamapp_runtime.functions.function_loader import python_path
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.file.output_folder import prepare_output, remove_leftovers
from streamapp_systems.protocols import StreamDescriptor, TransactionalAdmin, TransactionOwner
from streamapp_systems.registry import open_transactional_admin


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that can start; `counts` are the partitions of external streams.

    `refused` says why a run that goes on does not follow a change of its streams: it reads what it read before.
    """

    plan: Plan
    model: JobModel
    counts: Mapping[str, int]
    refused: tuple[Problem, ...] = ()


def plan_run(parsed: ParsedApp, folder: Path, run_id: str, location: str) -> PreparedRun:
    """Plan a new run on this machine; nothing is made yet. `location` is where its state lies.

    Raises:
        PlanRefused: the spec has problems.
        NotSupported: the spec is right but needs more than this release has.
        RuntimeFailure: a file of `pyFiles` is missing.
        StreamSystemError: a system can't be asked.
    """
    counts = {} if parsed.app is None else count_partitions(parsed.app, folder)
    plan = _plan(parsed, folder, counts, run_id, None)
    processors = {str(number): location for number in range(plan.app.spec.processors.count)}
    return PreparedRun(plan=plan, model=build_job_model(plan, None, processors), counts=counts)


def plan_again(parsed: ParsedApp, folder: Path, before: JobModel, now: int) -> PreparedRun:
    """Plan a run that goes on, with the partitions that its streams have now; nothing is made or put in force yet.

    What it can't follow is `refused`, and the plan is the one before. `now` is the time of day (ms since 1970).

    Raises:
        PlanRefused, NotSupported, RuntimeFailure, StreamSystemError: as `plan_run`, whatever the streams have become.
    """
    found = {} if parsed.app is None else _without_late(parsed.app, count_partitions(parsed.app, folder), before)
    refused: tuple[Problem, ...] = ()
    counts = found
    try:
        plan = _plan(parsed, folder, found, before.run_id, before)
    except PlanRefused as refusal:
        counts = {name: before.streams[name].partitions if name in before.streams else found[name] for name in found}
        if counts == found:
            raise
        plan, refused = _plan(parsed, folder, counts, before.run_id, before), refusal.problems
    processors = {id_: processor.location for id_, processor in before.processors.items()}
    model = build_job_model(plan, before, processors, now=now)
    return PreparedRun(plan=plan, model=model, counts=counts, refused=refused)


def _without_late(app: StreamApp, found: Mapping[str, int], before: JobModel) -> dict[str, int]:
    """Leave out partitions that a bounded stream got after its end was taken: they hold nothing of it."""
    bounded = {name for name, stream in app.spec.streams.items() if _is_bounded(app, stream)} & before.streams.keys()
    return {
        name: min(count, before.streams[name].partitions) if name in bounded else count for name, count in found.items()
    }


def _is_bounded(app: StreamApp, stream: StreamSpec) -> bool:
    return stream.bounded or app.spec.systems[stream.system].kind is SystemKind.FILE


def _plan(parsed: ParsedApp, folder: Path, counts: Mapping[str, int], run_id: str, previous: JobModel | None) -> Plan:
    result = make_plan(parsed, counts, previous, run_id=run_id, algorithms=installed_algorithm)
    if result.plan is None:
        raise PlanRefused(result.problems)
    check_supported(result.plan)
    python_path(result.plan.app.spec.py_files, folder)
    return result.plan


def made_streams(prepared: PreparedRun) -> dict[StreamDescriptor, int]:
    """Give the streams that come and go with a run: intermediate ones and the changelog, with partition counts.

    Those that other apps read are made, too, and stay.
    """
    plan = prepared.plan
    intermediate = (s for s in plan.streams.values() if s.role is StreamRole.INTERMEDIATE and not s.shared)
    counts = {descriptor(stream): stream.partitions for stream in intermediate}
    return counts | {changelog_stream(plan): len(prepared.model.tasks)}


def make_streams(prepared: PreparedRun, folder: Path) -> None:
    """Create the streams of a run where they are missing, its inputs and outputs in logs too.

    Raises:
        StreamSystemError: a stream exists with another partition count.
    """
    for system, counts in _streams_of(prepared).items():
        with closing(_admin(prepared.plan, system, folder)) as admin:
            admin.create(counts)


def add_streams(prepared: PreparedRun, folder: Path) -> None:
    """Create the streams that an edit has added to a run; those that are there may have grown since it was planned.

    A changelog that is gone is not made again: who took that for the run's would begin with no state.

    Raises:
        StreamSystemError: a system can't be asked, or does not make them.
    """
    changelog = changelog_stream(prepared.plan)
    for system, counts in _streams_of(prepared).items():
        with closing(_admin(prepared.plan, system, folder)) as admin:
            there = admin.partitions(list(counts)).keys() | {changelog.name}
            admin.create({stream: count for stream, count in counts.items() if stream.name not in there})


def _streams_of(prepared: PreparedRun) -> Mapping[str, Mapping[StreamDescriptor, int]]:
    """Give the partition counts of the streams that an app may make, by system."""
    lasting = (s for s in prepared.plan.streams.values() if s.shared or s.spec is not None)
    outside = {descriptor(s): s.partitions for s in lasting if s.system_kind is not SystemKind.FILE}
    counts = made_streams(prepared) | outside
    return {system: {stream: counts[stream] for stream in streams} for system, streams in by_system(counts).items()}


def check_shared_streams(plan: Plan, folder: Path) -> None:
    """Refuse a new run whose rows would follow those of another one in a stream that other apps read.

    Raises:
        RuntimeFailure: a stream has been written to already.
        StreamSystemError: its system can't be asked.
    """
    shared = [descriptor(s) for s in plan.streams.values() if s.shared and s.role is StreamRole.INTERMEDIATE]
    for system, streams in by_system(shared).items():
        with closing(_admin(plan, system, folder)) as admin:
            counts = admin.partitions(streams)
            ends = admin.end_offsets([stream for stream in streams if stream.name in counts])
        written = {ssp.stream for ssp, end in ends.items() if end > 0}
        used = sorted(stream.address for stream in streams if stream.name in written)
        if used:
            raise RuntimeFailure(
                f"{', '.join(used)} in system {system} has been written to by another run, and other apps may read it: "
                "they would take the rows of both runs for one. Give this run another name in partitionBy.stream, or "
                "delete the stream and begin its readers anew, too"
            )


def identities(plan: Plan, folder: Path) -> dict[str, str]:
    """Tell the streams that a run reads, and its changelog, by name, from others at their addresses; empty: none there.

    What a run knows of a stream, offsets above all, says nothing about one that was made anew.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    read = (s for s in plan.streams.values() if s.role is not StreamRole.OUTPUT and s.system_kind.transactional)
    found: dict[str, str] = {}
    for system, streams in by_system([*map(descriptor, read), changelog_stream(plan)]).items():
        with closing(_admin(plan, system, folder)) as admin:
            found |= admin.identities(streams)
    return found


def expand_changelog(prepared: PreparedRun, folder: Path) -> None:
    """Give the changelog of a run that goes on a partition for every task; done before new tasks are put in force.

    Raises:
        StreamSystemError: it can't be expanded.
    """
    plan, stream = prepared.plan, changelog_stream(prepared.plan)
    needed = max(prepared.model.changelog.values()) + 1
    with closing(_admin(plan, stream.system, folder)) as admin:
        if admin.partitions([stream]).get(stream.name, needed) < needed:
            admin.expand(stream, needed)


def fence(app: StreamApp, systems: Iterable[str], owners: Collection[TransactionOwner], folder: Path) -> None:
    """Shut out all earlier producers of these ids, dead or alive, in those of the systems that the app still has.

    Raises:
        Fenced: there is a later epoch; this driver is not the newest (log).
        StreamSystemError: a system does not answer.
    """
    for name in sorted(set(systems)):
        system = app.spec.systems.get(name)
        if owners and system is not None and system.kind.transactional:
            with closing(open_transactional_admin(name, system, folder)) as admin:
                admin.fence(list(owners))


def make_outputs(plan: Plan, folder: Path) -> None:
    """Make the output folders ready for a new run, emptied of earlier results.

    Raises:
        StreamSystemError: an output folder is not this app's.
    """
    for output in _output_folders(plan, folder):
        prepare_output(output, plan.app.metadata.name, fresh=True)


def tidy_outputs(plan: Plan, folder: Path) -> None:
    """Remove the parts that workers staged and died before they committed; no worker is alive."""
    for output in _output_folders(plan, folder):
        remove_leftovers(output, keep=())


def drop_streams(addresses: Mapping[str, Sequence[str]], app: StreamApp, folder: Path) -> None:
    """Delete streams that were made for earlier runs, by system, where the app still has the system."""
    for name, streams in addresses.items():
        system = app.spec.systems.get(name)
        if system is None or not system.kind.transactional:
            continue
        gone = [StreamDescriptor(name=a, system=name, address=a, format=StreamFormat.ARROW) for a in streams]
        with closing(open_transactional_admin(name, system, folder)) as admin:
            admin.delete(gone)


def _admin(plan: Plan, system: str, folder: Path) -> TransactionalAdmin:
    return open_transactional_admin(system, plan.app.spec.systems[system], folder)


def _output_folders(plan: Plan, folder: Path) -> list[Path]:
    return [_folder(plan, stream, folder) for stream in plan.streams.values() if _is_file_output(stream)]


def _is_file_output(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.OUTPUT and stream.system_kind is SystemKind.FILE


def _folder(plan: Plan, stream: PlannedStream, folder: Path) -> Path:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    return folder / system.path / stream.address
