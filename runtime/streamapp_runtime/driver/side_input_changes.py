"""Side inputs that have changed: their new versions, with the ends that belong to them."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan
from streamapp_runtime.driver.read_positions import bounded_end_offsets
from streamapp_runtime.errors import RuntimeFailure, SideInputChanged
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_runtime.side_input_versions import (
    SideInputVersion,
    SideInputVersions,
    has_files,
    is_atomic,
    take_side_input_versions,
)
from streamapp_systems.protocols import VersionGone
from streamapp_systems.registry import Systems

_TRIES = 3

Ends = Mapping[str, dict[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEnds:
    """The ends of bounded streams, and the versions of side inputs that these are the ends of."""

    ends: dict[str, dict[int, int]]
    side_inputs: dict[str, SideInputVersion]


def take_bounded_ends(plan: Plan, systems: Systems, ends: Ends, side_inputs: SideInputVersions) -> TakenEnds:
    """Return the ends of the bounded streams that are read, and the versions of side inputs.

    What is known stays, but not the ends of side inputs that have another version now. Versions are looked at again
    after the ends: those of files and folders must be the same then, those of tables need only be there.

    Raises:
        SideInputChanged: files change while they are looked at.
        StreamSystemError: a system can't be asked, or a file can't be read.
    """
    taken = take_side_input_versions(plan, systems, side_inputs)
    known, why = dict(ends), "the files of side inputs change while they are looked at"
    for _ in range(_TRIES):
        changed = {
            name for name in taken if name not in side_inputs or taken[name].version != side_inputs[name].version
        }
        known = {name: end for name, end in known.items() if name not in changed}
        try:
            versions = {name: side_input.version for name, side_input in taken.items()}
            known = bounded_end_offsets(plan, systems, known, versions)
            again = take_side_input_versions(plan, systems, taken)
            if unsettled(plan, again) == unsettled(plan, taken):
                tables = {name: taken[name] for name in taken if is_atomic(plan.streams[name])}
                return TakenEnds(ends=known, side_inputs={**again, **tables})
        except VersionGone as gone:
            why = str(gone)
        side_inputs, taken = taken, take_side_input_versions(plan, systems, taken)
    raise SideInputChanged(f"{why}: start the app when they are whole")


def unsettled(plan: Plan, side_inputs: SideInputVersions) -> dict[str, str]:
    """Return the versions, by stream, that may be about to change: who writes a file or folder may not be done."""
    return {name: side_input.version for name, side_input in side_inputs.items() if not is_atomic(plan.streams[name])}


def check_side_input_counts(plan: Plan, taken: TakenEnds) -> None:
    """Refuse side inputs with another number of files: other tasks would have to read them.

    Raises:
        RuntimeFailure: there is one.
    """
    for name, side_input in taken.side_inputs.items():
        if not has_files(plan.streams[name]):
            continue
        count, found = plan.streams[name].partitions, [file.name for file in side_input.files]
        if len(found) != count:
            raise RuntimeFailure(
                f"side input {name}: it had {count} files and has {len(found)} ({', '.join(found) or 'none'}). The "
                "files of a side input may change, but not their number, since each is a partition of a task: "
                f"provide {count} files to continue, or start from the beginning with a new run (--fresh)"
            )


def describe_changes(plan: Plan, previous: SideInputVersions, current: SideInputVersions) -> tuple[RunNotice, ...]:
    """Return a notice for each side input that has another version than the run has read before."""
    notices = []
    for name, side_input in current.items():
        if name in previous and previous[name].version != side_input.version:
            tables = sorted(table.name for table in plan.tables.values() if name in table.spec.side_inputs)
            change = describe_change(previous[name], side_input)
            message = f"side input {name}: {change}; filled again from the new version: {', '.join(tables)}"
            notices.append(RunNotice(reason=NoticeReason.SIDE_INPUT_REFRESHED, message=message))
    return tuple(notices)


def describe_change(previous: SideInputVersion, current: SideInputVersion) -> str:
    """Return which files are new, gone or have other contents, or which version is there now."""
    before = {file.name: file.digest for file in previous.files}
    after = {file.name: file.digest for file in current.files}
    files = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    return f"{', '.join(files)} changed" if files else f"version {previous.version} became {current.version}"
