"""Side inputs whose files have changed: their new versions, with the ends that belong to them."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan
from streamapp_runtime.driver.read_positions import bounded_end_offsets
from streamapp_runtime.errors import RuntimeFailure, SideInputChanged
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_runtime.side_input_files import SideInputFiles, take_side_input_files
from streamapp_systems.registry import Systems

_TRIES = 3

Ends = Mapping[str, dict[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEnds:
    """The ends of bounded streams, and the versions of side inputs from files that these are the ends of."""

    ends: dict[str, dict[int, int]]
    side_inputs: dict[str, SideInputFiles]


def take_bounded_ends(plan: Plan, systems: Systems, ends: Ends, side_inputs: Mapping[str, SideInputFiles]) -> TakenEnds:
    """Return the ends of the bounded streams that are read, and the versions of side inputs from files.

    What is known stays, but not the ends of side inputs that have another version now.

    Raises:
        SideInputChanged: files change while they are looked at.
        StreamSystemError: a system can't be asked, or a file can't be read.
    """
    taken = take_side_input_files(plan, systems, side_inputs)
    known = dict(ends)
    for _ in range(_TRIES):
        changed = {
            name for name in taken if name not in side_inputs or taken[name].version != side_inputs[name].version
        }
        known = bounded_end_offsets(plan, systems, {name: end for name, end in known.items() if name not in changed})
        before, taken = taken, take_side_input_files(plan, systems, taken)
        if all(taken[name].version == before[name].version for name in taken):
            return TakenEnds(ends=known, side_inputs=taken)
        side_inputs = before
    raise SideInputChanged(
        "the files of side inputs change while they are looked at: start the app when they are whole"
    )


def check_side_input_counts(plan: Plan, taken: TakenEnds) -> None:
    """Refuse side inputs with another number of files: other tasks would have to read them.

    Raises:
        RuntimeFailure: there is one.
    """
    for name, side_input in taken.side_inputs.items():
        count, found = plan.streams[name].partitions, [file.name for file in side_input.files]
        if len(found) != count:
            raise RuntimeFailure(
                f"side input {name}: it had {count} files and has {len(found)} ({', '.join(found) or 'none'}). The "
                "files of a side input may change, but not their number, since each is a partition of a task: "
                f"provide {count} files to continue, or start from the beginning with a new run (--fresh)"
            )


def describe_changes(
    plan: Plan, previous: Mapping[str, SideInputFiles], current: Mapping[str, SideInputFiles]
) -> tuple[RunNotice, ...]:
    """Return a notice for each side input whose files are others than the run has read before."""
    notices = []
    for name, side_input in current.items():
        if name in previous and previous[name].version != side_input.version:
            tables = sorted(table.name for table in plan.tables.values() if name in table.spec.side_inputs)
            files = ", ".join(changed_files(previous[name], side_input))
            message = f"side input {name}: {files} changed; filled again from the new version: {', '.join(tables)}"
            notices.append(RunNotice(reason=NoticeReason.SIDE_INPUT_REFRESHED, message=message))
    return tuple(notices)


def changed_files(previous: SideInputFiles, current: SideInputFiles) -> list[str]:
    """Return the names of files that are new, gone or have other contents."""
    before = {file.name: file.digest for file in previous.files}
    after = {file.name: file.digest for file in current.files}
    return sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
