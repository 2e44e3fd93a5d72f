"""The output folders of a run: emptied before it, and rid of uncommitted parts after it."""

from pathlib import Path

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_systems.file.output_folder import owned_part_files, prepare_output, remove_leftovers
from streamapp_systems.registry import Systems


def prepare_outputs(plan: Plan, systems: Systems) -> None:
    """Create the output folders of a new run, and empty them of earlier results.

    Raises:
        StreamSystemError: an output folder is not this app's.
    """
    for output in _output_folders(plan, systems):
        prepare_output(output, plan.app.metadata.name, fresh=True)


def count_part_files(plan: Plan, systems: Systems) -> dict[Path, int]:
    """Count the results of earlier runs in the output folders; those without any are left out."""
    counts = {
        output: len(owned_part_files(output, plan.app.metadata.name)) for output in _output_folders(plan, systems)
    }
    return {output: count for output, count in counts.items() if count}


def remove_uncommitted_parts(plan: Plan, systems: Systems) -> None:
    """Remove the parts that workers staged and died before they committed; no worker is alive."""
    for output in _output_folders(plan, systems):
        remove_leftovers(output, keep=())


def _output_folders(plan: Plan, systems: Systems) -> list[Path]:
    return [_folder(plan, stream, systems) for stream in plan.streams.values() if _is_file_output(stream)]


def _is_file_output(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.OUTPUT and stream.system_kind is SystemKind.FILE


def _folder(plan: Plan, stream: PlannedStream, systems: Systems) -> Path:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    return systems.folder / system.path / stream.address
