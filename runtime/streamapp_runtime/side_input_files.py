"""The versions of the files that side inputs are read from (docs/adjunct-stores.md, Files that change)."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import descriptor
from streamapp_systems.file import FileVersion, partition_files, take_file_versions
from streamapp_systems.registry import Systems


class SideInputFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a side input, in the order of its partitions, and `version`, which depends on their contents."""

    version: str
    files: tuple[FileVersion, ...]


def take_side_input_files(
    plan: Plan, systems: Systems, known: Mapping[str, SideInputFiles]
) -> dict[str, SideInputFiles]:
    """Return the files of the side inputs now, by stream; `known` are those that need not be read through again.

    Raises:
        StreamSystemError: a file can't be read.
    """
    return {
        stream.name: _side_input_files(
            take_file_versions(
                _root(plan, stream, systems),
                descriptor(stream),
                known[stream.name].files if stream.name in known else (),
            )
        )
        for stream in plan.streams.values()
        if _has_versions(stream)
    }


def side_input_paths(plan: Plan, systems: Systems, streams: set[str]) -> dict[Ssp, Path]:
    """Return the files of these streams, those of them that are side inputs from files."""
    return {
        Ssp(stream.system, stream.name, partition): path
        for stream in plan.streams.values()
        if stream.name in streams and _has_versions(stream)
        for partition, path in enumerate(partition_files(_root(plan, stream, systems), descriptor(stream)))
    }


def _side_input_files(files: tuple[FileVersion, ...]) -> SideInputFiles:
    """Leave the names out of the version: files that were renamed in the order that they had hold the same rows."""
    contents = "".join(file.digest for file in files)
    return SideInputFiles(version=hashlib.sha256(contents.encode()).hexdigest()[:16], files=files)


def _has_versions(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.SIDE_INPUT and stream.system_kind is SystemKind.FILE


def _root(plan: Plan, stream: PlannedStream, systems: Systems) -> Path:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    return systems.folder / system.path
