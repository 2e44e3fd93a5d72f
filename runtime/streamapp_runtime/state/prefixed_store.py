"""A part of a store: the entries whose keys begin with a prefix."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.state.store import Store


class PrefixedStore:
    """A store in another one, which may hold more; no key begins with 0xff after the prefix."""

    def __init__(self, store: Store, prefix: bytes) -> None:
        self._store = store
        self._prefix = prefix

    def get(self, key: bytes) -> bytes | None:
        """See `Store.get`."""
        return self._store.get(self._prefix + key)

    def put(self, key: bytes, value: bytes) -> None:
        """See `Store.put`."""
        self._store.put(self._prefix + key, value)

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """See `Store.put_all`."""
        self._store.put_all((self._prefix + key, value) for key, value in entries)

    def delete(self, key: bytes) -> None:
        """See `Store.delete`."""
        self._store.delete(self._prefix + key)

    def get_column(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """See `Store.get_column`."""
        return self._store.get_column(with_prefix(self._prefix, keys))

    def put_columns(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """See `Store.put_columns`."""
        self._store.put_columns(with_prefix(self._prefix, keys), values)

    def scan(
        self, start: bytes = b"", end: bytes | None = None, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """See `Store.scan`."""
        last = self._prefix + (b"\xff" if end is None else end)
        found = self._store.scan(self._prefix + start, last, limit)
        return ((key[len(self._prefix) :], value) for key, value in found)


def with_prefix(prefix: bytes, keys: pa.BinaryArray) -> pa.BinaryArray:
    """Return keys behind a prefix."""
    return pc.binary_join_element_wise(pa.scalar(prefix, pa.binary()), keys, pa.scalar(b"", pa.binary()))
