"""State without a changelog, apart from the rest: the stores of one owner's tables that side inputs fill (design 8)."""

from pathlib import Path

from streamapp_runtime.state.lmdb_environment import DamagedState, LmdbEnvironment
from streamapp_runtime.state.state_identity import Identity, close_safely, is_signed, made_anew, sign
from streamapp_runtime.state.unlogged_store import KeptStore


class UnloggedState:
    """Stores in one folder, of a task or a processor; each tells itself what it holds."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        """Open what a folder holds if it is this owner's, else make it anew. The caller holds the owner's lock."""
        self._identity = identity
        self._environment = _opened(folder, identity)
        sign(self._environment, identity)

    def store(self, name: str) -> KeptStore:
        """Open a store."""
        return KeptStore(self._environment, name)

    def commit(self) -> None:
        """Make everything written since the last commit last, all or nothing."""
        self._environment.commit()

    def close(self) -> None:
        """Release the state. What was committed is brought to the disk."""
        close_safely(self._environment, self._identity)


def _opened(folder: Path, identity: Identity) -> LmdbEnvironment:
    try:
        environment = LmdbEnvironment(folder)
    except DamagedState:
        return made_anew(folder)
    if is_signed(environment, identity):
        return environment
    environment.close()
    return made_anew(folder)
