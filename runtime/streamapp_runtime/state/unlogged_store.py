"""Stores without a changelog: they tell themselves how far the streams that fill them have been read (design 8)."""

from typing import Protocol

from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.state.state_identity import META
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


class KeptStore:
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


class MemoryOnlyStore:
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
