"""The interface of state for operators and tables: named stores of bytes, ordered by key."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import pyarrow as pa

from streamapp_runtime.state.entry_columns import Entries


class Store(Protocol):
    """A named map of bytes in the state of a task.

    Writes can be read at once; they are durable from the next commit on.
    """

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if it is absent."""
        ...

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        ...

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """Set the values of many keys."""
        ...

    def delete(self, key: bytes) -> None:
        """Delete a key; nothing happens if it is absent."""
        ...

    def get_column(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """Return the value of each key; null where it is absent."""
        ...

    def put_columns(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """Set the values of keys, which are in their order, none twice; a null deletes its key."""
        ...

    def scan(
        self, start: bytes = b"", end: bytes | None = None, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the entries with start <= key < end in the order of their keys, the first `limit` of them.

        The entries are those of the moment the scan began, whatever is written meanwhile.
        """
        ...


class Environment(Protocol):
    """Stores that commit together, all or nothing. Used by one thread."""

    def store(self, name: str) -> Store:
        """Open a store, creating it if it is new."""
        ...

    def changes(self, name: str) -> Iterator[Entries]:
        """Return what was written to a store since the last commit, the newest value of each key, in their order."""
        ...

    def commit(self) -> None:
        """Make everything written since the last commit durable, all or nothing."""
        ...

    def close(self) -> None:
        """Release every handle; what was not committed is gone."""
        ...
