"""State without a changelog: the stores of one owner's tables that side inputs fill (docs/adjunct-stores.md)."""

from pathlib import Path
from typing import Protocol

from streamapp_runtime.state.lmdb_environment import DamagedState, LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.state.state_owner import (
    META,
    StateOwner,
    is_intact_state_of,
    recreate_environment,
    sync_and_close,
    write_owner,
)
from streamapp_runtime.state.store import Store

_PREFIX = b"side inputs of "


class UnloggedStore(Protocol):
    """A store and its record, which is changed with it or not at all."""

    store: Store

    @property
    def record(self) -> bytes | None:
        """What the store tells of itself; None if there is none."""
        ...

    def write_record(self, record: bytes) -> None:
        """Set the record; it lasts from the next commit on, with all that was written to the store before."""
        ...

    def clear(self) -> None:
        """Empty the store at once; it has no record then."""
        ...


class PersistentUnloggedStore:
    """An unlogged store on disk, which commits with its environment."""

    def __init__(self, environment: LmdbEnvironment, name: str) -> None:
        self._environment = environment
        self._name = name
        self._meta = environment.store(META)
        self.store: Store = environment.store(name)

    @property
    def record(self) -> bytes | None:
        """See `UnloggedStore.record`."""
        return self._meta.get(_PREFIX + self._name.encode())

    def write_record(self, record: bytes) -> None:
        """See `UnloggedStore.write_record`."""
        self._meta.put(_PREFIX + self._name.encode(), record)

    def clear(self) -> None:
        """See `UnloggedStore.clear`. Without its record first: an empty store must not say that it holds anything."""
        self._meta.delete(_PREFIX + self._name.encode())
        self._environment.commit()
        self._environment.clear(self._name)


class InMemoryUnloggedStore:
    """An unlogged store in memory: it is empty at each start."""

    record: bytes | None = None

    def __init__(self, name: str) -> None:
        self._environment = MemoryEnvironment()
        self.store: Store = self._environment.store(name)

    def write_record(self, record: bytes) -> None:  # noqa: ARG002 - nobody will read it
        """Forget which keys were written: there is no commit that needs them."""
        self._environment.commit()

    def clear(self) -> None:
        """See `UnloggedStore.clear`: it is empty."""


class UnloggedState:
    """Stores in one folder, of a task or a processor; each tells itself what it holds."""

    def __init__(self, folder: Path, identity: StateOwner) -> None:
        """Open what a folder holds if it is this owner's, else make it anew. The caller holds the owner's lock."""
        self._identity = identity
        self._environment = _opened(folder, identity)
        write_owner(self._environment, identity)

    def store(self, name: str) -> PersistentUnloggedStore:
        """Open a store."""
        return PersistentUnloggedStore(self._environment, name)

    def commit(self) -> None:
        """Make everything written since the last commit last, all or nothing."""
        self._environment.commit()

    def close(self) -> None:
        """Release the state. What was committed is brought to the disk."""
        sync_and_close(self._environment, self._identity)


def _opened(folder: Path, identity: StateOwner) -> LmdbEnvironment:
    try:
        environment = LmdbEnvironment(folder)
    except DamagedState:
        return recreate_environment(folder)
    if is_intact_state_of(environment, identity):
        return environment
    environment.close()
    return recreate_environment(folder)
