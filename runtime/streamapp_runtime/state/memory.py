"""State in memory: for tables that need not persist, and for runs that keep nothing."""

from collections.abc import Iterator

from streamapp_runtime.state.protocol import Store


class MemoryStore:
    """A store in a dictionary; sorted only when scanned."""

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """See `Store.get`."""
        return self._entries.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """See `Store.put`."""
        self._entries[key] = value

    def delete(self, key: bytes) -> None:
        """See `Store.delete`."""
        self._entries.pop(key, None)

    def scan(self, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """See `Store.scan`."""
        keys = sorted(key for key in self._entries if key >= start and (end is None or key < end))
        return iter([(key, self._entries[key]) for key in keys])


class MemoryEnvironment:
    """Stores in memory; a commit has nothing to do."""

    def __init__(self) -> None:
        self._stores: dict[str, Store] = {}

    def store(self, name: str) -> Store:
        """See `Environment.store`."""
        return self._stores.setdefault(name, MemoryStore())

    def commit(self) -> None:
        """See `Environment.commit`."""

    def close(self) -> None:
        """See `Environment.close`."""
        self._stores.clear()
