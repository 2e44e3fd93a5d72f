"""Per-key state of aggregates and windows: partial results, cached decoded in front of a store."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.rows.row_codec import decode_row, encode_row
from streamapp_runtime.state.chunked_values import CHUNK_BYTES, delete_chunks, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

CACHED_ROWS = 200_000


class GroupStates:
    """A map from keys to rows of plain values; changes reach the store with `flush`.

    No key may be another one with four bytes more: large rows are stored in chunks.
    """

    def __init__(self, store: Store, cached: int = CACHED_ROWS) -> None:
        """Keep about `cached` decoded rows in memory between commits."""
        self._store = store
        self._cached_limit = cached
        self._rows: dict[bytes, Row] = {}
        self._changed: set[bytes] = set()
        self._chunked: set[bytes] = set()
        """Keys whose rows are, or were, larger than one chunk."""
        self._due: deque[tuple[bytes, bytes]] = deque()
        self._scanned_below = self._end = b""

    def merge(
        self,
        keys: Sequence[bytes],
        rows: Sequence[Row],
        merge_all: Callable[[Sequence[Row | None], Sequence[Row]], list[Row]],
    ) -> list[Row]:
        """Merge a row into that of each key (no key twice), None where a key is new; return the merged rows."""
        states = merge_all(self.get_all(keys), rows)
        self.put_all(keys, states)
        return states

    def get_all(self, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the row of each key; None where a key is new."""
        return [self._get(key) for key in keys]

    def put_all(self, keys: Sequence[bytes], rows: Sequence[Row]) -> None:
        """Set the row of each key."""
        self._rows.update(zip(keys, rows, strict=True))
        self._changed.update(keys)

    def delete(self, key: bytes) -> None:
        """Delete the row of a key."""
        self._rows.pop(key, None)
        self._changed.discard(key)
        self._chunked.discard(key)
        delete_chunks(self._store, key)

    @property
    def has_pending_results(self) -> bool:
        """Whether `pop_below` may have left rows below the last `end`."""
        return bool(self._due) or self._scanned_below < self._end

    def pop_below(self, end: bytes, limit: int) -> list[Row]:
        """Remove at most `limit` keys below `end`; return their rows in the order of their keys.

        `end` only rises, and nothing is merged into keys below it any more.
        """
        self._end = end
        if not self._due and self._scanned_below < end:
            self._write()
            self._due.extend(join_chunks(self._store.scan(end=end)))
            self._scanned_below = end
        popped = [self._due.popleft() for _ in range(min(limit, len(self._due)))]
        for key, data in popped:
            self._rows.pop(key, None)
            if len(data) < CHUNK_BYTES:
                self._store.delete(key)
            else:
                delete_chunks(self._store, key)
            self._chunked.discard(key)
        return [decode_row(data) for _, data in popped]

    def stored(self, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, Row]]:
        """Iterate over the keys in a range and their rows, as they are in the store."""
        entries = join_chunks(scan_pages(self._store, start, end))
        return ((key, decode_row(data)) for key, data in entries)

    def flush(self) -> None:
        """Write the changed rows to the store; empty the cache if it has grown too large."""
        self._write()
        if len(self._rows) > self._cached_limit:
            self._rows.clear()

    def _get(self, key: bytes) -> Row | None:
        row = self._rows.get(key)
        if row is None:
            data = self._store.get(key)
            if data is not None and len(data) == CHUNK_BYTES:
                data = get_chunks(self._store, key)
                self._chunked.add(key)
            if data is not None:
                return decode_row(data)
        return row

    def _write(self) -> None:
        if not self._changed:
            return
        keys = sorted(self._changed)  # changelog and LMDB write in this order: their own sorting is then free
        self._store.put_all(self._small((key, encode_row(self._rows[key])) for key in keys))
        self._changed.clear()

    def _small(self, entries: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Return the entries of one chunk; put the others, and those that were larger, in chunks."""
        for key, data in entries:
            if len(data) < CHUNK_BYTES and key not in self._chunked:
                yield key, data
            else:
                put_chunks(self._store, key, data)
                self._chunked.add(key)
