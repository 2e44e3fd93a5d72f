"""Per-key state of aggregates and windows: partial results, cached decoded in front of a store."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streamapp_runtime.rows.codec import decode_row, encode_row
from streamapp_runtime.state.protocol import Store

_CACHED = 200_000


class GroupStates:
    """A map from keys to rows of plain values; changes reach the store with `flush`."""

    def __init__(self, store: Store, cached: int = _CACHED) -> None:
        """Keep about `cached` decoded rows in memory between commits."""
        self._store = store
        self._limit = cached
        self._rows: dict[bytes, list[Any]] = {}
        self._changed: set[bytes] = set()

    def merge(
        self,
        keys: Sequence[bytes],
        rows: Iterable[Sequence[Any]],
        merged: Callable[[list[Any] | None, Sequence[Any]], list[Any]],
    ) -> list[list[Any]]:
        """Merge a row into that of each key, None where a key is new; give the merged rows."""
        states = []
        for key, row in zip(keys, rows, strict=True):
            state = self._rows[key] = merged(self._get(key), row)
            states.append(state)
        self._changed.update(keys)
        return states

    def take_below(self, end: bytes) -> list[list[Any]]:
        """Remove all keys below `end` and give their rows in the order of their keys."""
        self._write()
        taken = list(self._store.scan(end=end))
        for key, _ in taken:
            self._rows.pop(key, None)
            self._store.delete(key)
        return [decode_row(data) for _, data in taken]

    def flush(self) -> None:
        """Write the changed rows to the store; forget the cache if it has grown too large."""
        self._write()
        if len(self._rows) > self._limit:
            self._rows.clear()

    def _get(self, key: bytes) -> list[Any] | None:
        row = self._rows.get(key)
        if row is None:
            data = self._store.get(key)
            if data is not None:
                row = self._rows[key] = decode_row(data)
        return row

    def _write(self) -> None:
        put, rows = self._store.put, self._rows
        for key in sorted(self._changed):  # changelog and LMDB take them in this order: their own sorting is then free
            put(key, encode_row(rows[key]))
        self._changed.clear()
