"""Whose state a folder holds, written into it: what another owner left there is made anew (design 9, State)."""

from pathlib import Path

import msgspec

from streamapp_runtime.state.lmdb_environment import DATA_FILE, LmdbEnvironment

META = "__meta"
"""The store in which state tells of itself."""
OWNER = b"identity"
_SAFE = ""
"""In place of a boot id: everything is on the disk."""


class StateOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose state a folder holds, and the start of the machine whose crash may have lost writes (empty: none can).

    `task` is the task's name, or that of what else owns state.
    """

    run_id: str
    task: str
    boot_id: str


decode_owner = msgspec.json.Decoder(StateOwner).decode


def is_intact_state_of(environment: LmdbEnvironment, identity: StateOwner) -> bool:
    """Tell whether state is this owner's, and nothing of it can have been lost in a crash of the machine."""
    found = environment.store(META).get(OWNER)
    owner = None if found is None else decode_owner(found)
    if owner is None or owner.boot_id not in (_SAFE, identity.boot_id):
        return False
    return owner == msgspec.structs.replace(identity, boot_id=owner.boot_id)


def write_owner(environment: LmdbEnvironment, identity: StateOwner) -> None:
    """Write down whose state it is from now on."""
    environment.store(META).put(OWNER, msgspec.json.encode(identity))
    environment.commit()


def sync_and_close(environment: LmdbEnvironment, identity: StateOwner) -> None:
    """Bring what was committed to the disk and say so, so that a crash of the machine loses nothing; then close."""
    environment.discard()
    environment.sync()
    write_owner(environment, msgspec.structs.replace(identity, boot_id=_SAFE))
    environment.sync()
    environment.close()


def recreate_environment(folder: Path) -> LmdbEnvironment:
    """Throw away what a folder holds. The caller has closed it."""
    (folder / DATA_FILE).unlink(missing_ok=True)
    return LmdbEnvironment(folder)
