"""The versions of side inputs from files, tables and folders (docs/adjunct-stores.md, New versions)."""

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


class SideInputVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The version of a side input. Of one from files, it depends on their contents.

    `files` are these, in the order of its partitions; those of a table or folder follow from its version.
    """

    version: str
    files: tuple[FileVersion, ...] = ()


SideInputVersions = Mapping[str, SideInputVersion]
"""The versions of side inputs, by stream."""


def take_side_input_versions(plan: Plan, systems: Systems, known: SideInputVersions) -> dict[str, SideInputVersion]:
    """Return the versions of the side inputs now, by stream; `known` are files that need not be read through again.

    Raises:
        StreamSystemError: a file can't be read, or a table or folder is not there.
    """
    found = {}
    for stream in plan.streams.values():
        if has_files(stream):
            files = known[stream.name].files if stream.name in known else ()
            found[stream.name] = _of_files(take_file_versions(_root(plan, stream, systems), descriptor(stream), files))
        elif stream.role is StreamRole.SIDE_INPUT and descriptor(stream).whole is not None:
            version = systems.latest_version(plan.app.system(stream.system), descriptor(stream))
            found[stream.name] = SideInputVersion(version=version)
    return found


def side_input_paths(plan: Plan, systems: Systems, streams: set[str]) -> dict[Ssp, Path]:
    """Return the files of these streams, those of them that are side inputs from files."""
    return {
        Ssp(stream.system, stream.name, partition): path
        for stream in plan.streams.values()
        if stream.name in streams and has_files(stream)
        for partition, path in enumerate(partition_files(_root(plan, stream, systems), descriptor(stream)))
    }


def has_files(stream: PlannedStream) -> bool:
    """Return whether a stream is a side input from files, each of which is a partition."""
    return stream.role is StreamRole.SIDE_INPUT and stream.system_kind is SystemKind.FILE


def is_atomic(stream: PlannedStream) -> bool:
    """Return whether each version of a side input is whole as soon as it is there: files may still be written."""
    return stream.system_kind.holds_tables


def _of_files(files: tuple[FileVersion, ...]) -> SideInputVersion:
    """Leave the names out of the version: files that were renamed in the order that they had hold the same rows."""
    contents = "".join(file.digest for file in files)
    return SideInputVersion(version=hashlib.sha256(contents.encode()).hexdigest()[:16], files=files)


def _root(plan: Plan, stream: PlannedStream, systems: Systems) -> Path:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    return systems.folder / system.path
