"""State without a changelog: the stores of one owner's tables that side inputs fill (docs/adjunct-stores.md)."""

from pathlib import Path
from typing import Protocol

from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.state.state_folder import open_or_recreate, sync_and_close
from streamapp_runtime.state.state_metadata import META
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store import Store

_PREFIX = b"side inputs of "


class UnloggedStore(Protocol):
    """A store and its record, which is changed with it or not at all."""

    store: Store

    @property
    def record(self) -> bytes | None:
        """The store's record of how far its side inputs are in it; None if there is none."""
        ...

    def write_record(self, record: bytes) -> None:
        """Set the record; it is durable from the next commit on, with all that was written to the store before."""
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
        """See `UnloggedStore.clear`. The record goes first: an empty store must not have one."""
        self._meta.delete(_PREFIX + self._name.encode())
        self._environment.commit()
        self._environment.clear(self._name)


class InMemoryUnloggedStore:
    """An unlogged store in memory: it is empty at each start."""

    record: bytes | None = None

    def __init__(self, name: str) -> None:
        self._environment = MemoryEnvironment()
        self.store: Store = self._environment.store(name)

    def write_record(self, record: bytes) -> None:  # noqa: ARG002 - nothing reads it
        """Drop the list of written keys: there is no commit that needs them."""
        self._environment.commit()

    def clear(self) -> None:
        """See `UnloggedStore.clear`: it is empty."""


class UnloggedState:
    """The unlogged stores of a task or a processor, in one folder; each has a record of what it holds."""

    def __init__(self, folder: Path, owner: StateOwner) -> None:
        """Open a folder's state if it is this owner's and intact, else recreate it. The caller holds its lock."""
        self._folder = folder
        self._owner = owner
        self._environment = open_or_recreate(folder, owner)

    def store(self, name: str) -> PersistentUnloggedStore:
        """Open a store."""
        return PersistentUnloggedStore(self._environment, name)

    def commit(self) -> None:
        """Make everything written since the last commit durable, all or nothing."""
        self._environment.commit()

    def close(self) -> None:
        """Release the state. What was committed is synced to the disk."""
        sync_and_close(self._environment, self._folder, self._owner)
