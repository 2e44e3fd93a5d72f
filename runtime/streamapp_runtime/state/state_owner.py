"""The owner of a state folder, recorded in it: what another owner left there is recreated (docs/architecture.md)."""

from pathlib import Path

import msgspec

from streamapp_runtime.state.lmdb_environment import DATA_FILE, LmdbEnvironment
from streamapp_runtime.state.state_metadata import META, OWNER

_SYNCED = ""
"""The boot id of state that is all on the disk."""


class StateOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a run that a folder's state belongs to, and the boot of the machine that wrote it.

    A crash of that boot may have lost writes; an empty `boot_id`: none can be lost. `task` is the task's name, or that
    of another owner of state, such as a processor.
    """

    run_id: str
    task: str
    boot_id: str


decode_owner = msgspec.json.Decoder(StateOwner).decode


def is_intact_state_of(environment: LmdbEnvironment, owner: StateOwner) -> bool:
    """Return whether state is this owner's, and no crash of the machine can have lost any of it."""
    data = environment.store(META).get(OWNER)
    recorded = None if data is None else decode_owner(data)
    if recorded is None or recorded.boot_id not in (_SYNCED, owner.boot_id):
        return False
    return recorded == msgspec.structs.replace(owner, boot_id=recorded.boot_id)


def write_owner(environment: LmdbEnvironment, owner: StateOwner) -> None:
    """Record the owner of the state from now on, and commit."""
    environment.store(META).put(OWNER, msgspec.json.encode(owner))
    environment.commit()


def sync_and_close(environment: LmdbEnvironment, owner: StateOwner) -> None:
    """Sync what was committed to the disk and record that, so that a crash of the machine loses nothing; then close."""
    environment.discard()
    environment.sync()
    write_owner(environment, msgspec.structs.replace(owner, boot_id=_SYNCED))
    environment.sync()
    environment.close()


def recreate_environment(folder: Path) -> LmdbEnvironment:
    """Delete the state in a folder and open an empty one. The caller has closed it."""
    (folder / DATA_FILE).unlink(missing_ok=True)
    return LmdbEnvironment(folder)
