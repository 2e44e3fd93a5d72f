"""The opening and closing of the stores in a folder: only intact ones are opened, all others are recreated."""

from collections.abc import Callable
from pathlib import Path

from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.state.lmdb_environment import DATA_FILE, DamagedState, LmdbEnvironment
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import (
    StoreCondition,
    assess_stores,
    find_data_file,
    read_marker,
    remove_marker,
    write_marker,
)


def assess_folder(folder: Path, owner: StateOwner) -> StoreCondition:
    """Return the condition of the stores in a folder, which are not opened for that."""
    return assess_stores(read_marker(folder), find_data_file(folder), owner)


def open_intact(folder: Path, owner: StateOwner) -> LmdbEnvironment | None:
    """Open the stores in a folder to read them; None if they are not this owner's, or may not be believed."""
    if assess_folder(folder, owner) is not StoreCondition.INTACT:
        return None
    try:
        return LmdbEnvironment(folder)
    except DamagedState:
        return None


def open_or_recreate(
    folder: Path, owner: StateOwner, is_usable: Callable[[LmdbEnvironment], bool] = lambda _: True
) -> LmdbEnvironment:
    """Open the stores in a folder to change them; if they are not intact, or not usable, empty ones.

    From here to `sync_and_close` they are marked as open. The caller holds the folder's lock.
    """
    environment = open_intact(folder, owner)
    try:
        if environment is None or not is_usable(environment):
            if environment is not None:
                environment.close()
            environment = _recreate(folder)
        write_marker(folder, owner, synced=False)
    except BaseException:
        if environment is not None:
            environment.close()  # the next owner may be in this process
        raise
    return environment


def sync_and_close(environment: LmdbEnvironment, folder: Path, owner: StateOwner) -> None:
    """Sync what was committed to the disk and mark it as synced, so that a crash of the machine loses nothing; close.

    Raises:
        RuntimeFailure: the disk failed or is full; if the sync failed, the stores are recreated at the next start.
    """
    try:
        environment.discard()
        try:
            environment.sync()
        except RuntimeFailure:
            remove_marker(folder)  # the kernel may have dropped what it could not write
            raise
        write_marker(folder, owner, synced=True)
    finally:
        environment.close()


def _recreate(folder: Path) -> LmdbEnvironment:
    """Delete the stores in a folder and open empty ones; the marker goes first, so that it never speaks for these."""
    remove_marker(folder)
    try:
        (folder / DATA_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise RuntimeFailure(f"the state in {folder} can't be recreated: {error}") from None
    return LmdbEnvironment(folder)
