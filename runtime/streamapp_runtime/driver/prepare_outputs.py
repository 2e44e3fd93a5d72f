"""The outputs of a run that are staged: folders are emptied before it, and all are rid of uncommitted parts after it.

A driver may stand still at any moment, and go on when its successor has taken over. So parts are listed before it makes
sure that it is the newest, and only those listed are removed: a successor's parts come later, and have other names.
"""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_systems.file import claim_output, joined_drafts, published_parts, remove_parts, staged_parts
from streamapp_systems.objects import ObjectPath, Place, check_conditional_copies
from streamapp_systems.registry import Systems
from streamapp_systems.tables import staging_folder

Check = Callable[[], object]
"""Raises `Superseded` if a later driver has taken over."""


def claim_outputs(plan: Plan, systems: Systems) -> None:
    """Create the output folders that are missing, and mark them as this app's; safe to repeat.

    Raises:
        StreamSystemError: an output folder is not this app's, or is in a store in which files can't be published.
    """
    _claim(plan, systems)


def prepare_outputs(plan: Plan, systems: Systems, check: Check) -> None:
    """Create the output folders of a new run, and empty them of earlier results; safe to repeat after a death in it.

    Staged parts go first. A zombie that has committed but not published is not fenced: what it publishes until its
    staged part is removed is listed with the published ones, and then it has nothing to publish any more. What it began
    to join before that goes in between: its drafts that are not listed then are published, or lack parts.

    Raises:
        Superseded: a later driver has taken over.
        StreamSystemError: an output folder is not this app's, or is in a store in which files can't be published.
    """
    outputs, owner = _output_folders(plan, systems), plan.app.metadata.name
    _claim(plan, systems)
    _remove([part for output in outputs for part in staged_parts(output)], check)
    _remove([draft for output in outputs for draft in joined_drafts(output)], check)
    _remove([part for output in outputs for part in published_parts(output, owner)], check)
    _remove_staged_rows(plan, systems, check)


def count_part_files(plan: Plan, systems: Systems) -> dict[Place, int]:
    """Count the results of earlier runs in the output folders; those without any are left out."""
    counts = {output: len(published_parts(output, plan.app.metadata.name)) for output in _output_folders(plan, systems)}
    return {output: count for output, count in counts.items() if count}


def remove_uncommitted_parts(plan: Plan, systems: Systems, check: Check) -> None:
    """Remove the parts that workers staged and died before they committed; no worker is alive.

    Raises:
        Superseded: a later driver has taken over, whose workers may have staged some of them.
    """
    _remove([part for output in _output_folders(plan, systems) for part in staged_parts(output)], check)
    _remove_staged_rows(plan, systems, check)


def _remove_staged_rows(plan: Plan, systems: Systems, check: Check) -> None:
    written: dict[str, set[str]] = defaultdict(set)
    for stream in plan.streams.values():
        if stream.role is StreamRole.OUTPUT and stream.system_kind is SystemKind.POSTGRESQL:
            written[stream.system].add(stream.name)
    for system, streams in written.items():
        rows = systems.open_staged_rows(plan.app.spec.systems[system], plan.app.name_prefix)
        if listed := rows.find(streams):
            check()
            rows.remove(listed)


def _claim(plan: Plan, systems: Systems) -> None:
    """Claim the folders of files, and those in which rows are staged for tables: in a store these are the tables'."""
    outputs = [stream for stream in plan.streams.values() if _is_file_output(stream)]
    for name in {stream.system for stream in outputs if stream.system_kind is SystemKind.FILE}:
        place = systems.place(plan.app.spec.systems[name])
        if isinstance(place, ObjectPath):
            check_conditional_copies(place)
    for stream in outputs:
        folder = _folder(plan, stream, systems)
        if isinstance(folder, Path) or stream.system_kind is SystemKind.FILE:
            claim_output(folder, plan.app.metadata.name)


def _remove(listed: list[Place], check: Check) -> None:
    if listed:
        check()
        remove_parts(listed)


def _output_folders(plan: Plan, systems: Systems) -> list[Place]:
    return [_folder(plan, stream, systems) for stream in plan.streams.values() if _is_file_output(stream)]


def _is_file_output(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.OUTPUT and stream.system_kind.holds_files


def _folder(plan: Plan, stream: PlannedStream, systems: Systems) -> Place:
    system = plan.app.spec.systems[stream.system]
    if system.file is None:
        return systems.place(system) / staging_folder(plan.app.name_prefix, stream.name)
    return systems.place(system) / stream.address
