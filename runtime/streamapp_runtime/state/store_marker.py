"""The marker of a state folder: a small synced file beside LMDB's, from which follows whether to believe the stores.

LMDB is not synced at each commit, and writes new pages over those that its last synced commit does not use. So after a
loss of power its file may be any mixture of old and new pages, and nothing in it can be believed, a mark against that
neither: LMDB may find wrong content without noticing, or end the process.
"""

import os
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import msgspec

from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.state.lmdb_environment import DATA_FILE
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_systems.file.output_folder import sync_folder

MARKER_FILE = "marker.json"
_SECTOR = 512


class DataFile(NamedTuple):
    """LMDB's file in a state folder: its inode, and its size in bytes."""

    inode: int
    size: int


class StoreMarker(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a folder's stores, and LMDB's file; `synced`: they were closed, and all of it was on the disk."""

    owner: StateOwner
    file: DataFile
    synced: bool


class StoreCondition(Enum):
    """The conditions of the stores in a folder; only intact ones are opened.

    `UNMARKED`: there are none, or no readable marker. `FOREIGN`: they are another owner's. `CRASHED`: the machine has
    crashed while they were open. `ALTERED`: LMDB's file is not the one that the marker was written for.
    """

    INTACT = "intact"
    UNMARKED = "unmarked"
    FOREIGN = "foreign"
    CRASHED = "crashed"
    ALTERED = "altered"


def assess_stores(marker: StoreMarker | None, found: DataFile | None, owner: StateOwner) -> StoreCondition:
    """Return the condition of stores for an owner, from their marker and LMDB's file; None: absent or unreadable.

    Stores that were open when their process died are intact as long as the machine runs on: the kernel has what LMDB
    wrote. A copy of such a file may mix commits, so it must be the same file; of a closed one any whole copy will do.
    """
    if marker is None or found is None:
        return StoreCondition.UNMARKED
    if (marker.owner.run_id, marker.owner.task) != (owner.run_id, owner.task):
        return StoreCondition.FOREIGN
    if marker.synced:
        return StoreCondition.INTACT if marker.file.size == found.size else StoreCondition.ALTERED
    if marker.owner.boot_id != owner.boot_id:
        return StoreCondition.CRASHED
    return StoreCondition.INTACT if marker.file.inode == found.inode else StoreCondition.ALTERED


_decode = msgspec.json.Decoder(StoreMarker).decode


def read_marker(folder: Path) -> StoreMarker | None:
    """Return the marker of a folder; None if there is none that can be read."""
    try:
        return _decode((folder / MARKER_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise _unusable(folder, "read", error) from None


def write_marker(folder: Path, owner: StateOwner, *, synced: bool) -> None:
    """Write the marker of a folder, whose data file exists, over the previous one; it is on the disk at the return.

    A loss of power or a death leaves the previous marker, this one, or none that can be read.

    Raises:
        RuntimeFailure: the folder can't be written.
    """
    path = folder / MARKER_FILE
    try:
        found = (folder / DATA_FILE).stat()
        marker = StoreMarker(owner=owner, file=DataFile(found.st_ino, found.st_size), synced=synced)
        text = msgspec.json.encode(marker)
        padded = text.ljust(-(-len(text) // _SECTOR) * _SECTOR)  # of one size: to sync it is to write one sector
        is_new = not path.exists()
        file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(file, padded, 0)
            os.ftruncate(file, len(padded))
            os.fdatasync(file)
        finally:
            os.close(file)
        if is_new:
            sync_folder(folder)
    except OSError as error:
        raise _unusable(folder, "written", error) from None


def remove_marker(folder: Path) -> None:
    """Remove the marker of a folder, if there is one; it is gone from the disk when this returns.

    Raises:
        RuntimeFailure: the folder can't be written.
    """
    try:
        (folder / MARKER_FILE).unlink()
        sync_folder(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(folder, "written", error) from None


def find_data_file(folder: Path) -> DataFile | None:
    """Return LMDB's file in a folder; None if it is absent."""
    try:
        found = (folder / DATA_FILE).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return DataFile(found.st_ino, found.st_size)


def _unusable(folder: Path, done: str, error: OSError) -> RuntimeFailure:
    return RuntimeFailure(f"the state in {folder} can't be {done}: {error}")
