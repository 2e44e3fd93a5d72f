"""State in memory: for tables that are not persistent, and for stores under test."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from streamapp_runtime.state.entry_columns import Entries, entry_columns


class MemoryStore:
    """A store in a dictionary, sorted only when scanned."""

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}
        self.changed: set[bytes] = set()
        """The keys written since the last commit."""

    def get(self, key: bytes) -> bytes | None:
        """See `Store.get`."""
        return self._entries.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """See `Store.put`."""
        self._entries[key] = value
        self.changed.add(key)

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """See `Store.put_all`."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> None:
        """See `Store.delete`."""
        self._entries.pop(key, None)
        self.changed.add(key)

    def get_column(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """See `Store.get_column`."""
        return pa.array(map(self.get, keys.to_pylist()), pa.binary())

    def put_columns(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """See `Store.put_columns`."""
        for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True):
            if value is None:
                self.delete(key)
            else:
                self.put(key, value)

    def scan(
        self, start: bytes = b"", end: bytes | None = None, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """See `Store.scan`."""
        keys = sorted(key for key in self._entries if key >= start and (end is None or key < end))
        return iter([(key, self._entries[key]) for key in keys[:limit]])


class MemoryEnvironment:
    """Stores in memory, as long as their process lives."""

    def __init__(self) -> None:
        self._stores: dict[str, MemoryStore] = {}

    def store(self, name: str) -> MemoryStore:
        """See `Environment.store`."""
        return self._stores.setdefault(name, MemoryStore())

    def changes(self, name: str) -> Iterator[Entries]:
        """See `Environment.changes`."""
        store = self.store(name)
        return entry_columns((key, store.get(key)) for key in sorted(store.changed))

    def commit(self) -> None:
        """See `Environment.commit`."""
        for store in self._stores.values():
            store.changed.clear()

    def close(self) -> None:
        """See `Environment.close`."""
        self._stores.clear()
