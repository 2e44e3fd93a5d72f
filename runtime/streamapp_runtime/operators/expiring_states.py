"""Per-key state that ends: a key is forgotten when the watermark passes its last event time by more than the ttl.

What has ended counts as absent at once. It is deleted some keys at a time: an index has each key once, in a slot of
time; when the slot is due, the key is deleted, or moves to the slot of its newer time. So a key that has a row with
every batch moves once in a ttl.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.operators.group_states import CACHED_ROWS, GroupStates
from streamapp_runtime.operators.window_bounds import BEGINNING, end_key
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store

_ROWS, _DUE = b"k", b"t"
_TIME_BYTES = 8
_SLOTS = 64
_EXAMINED_AT_ONCE = 20_000


class ExpiringStates(GroupStates):
    """A map from keys to rows, each with the last event time of its key at its end."""

    def __init__(
        self,
        store: Store,
        ttl: int,
        cached: int = CACHED_ROWS,
        *,
        on_end: Callable[[Row], object] = id,
        examined_at_once: int = _EXAMINED_AT_ONCE,
    ) -> None:
        """Take the time to live in milliseconds; keep about `cached` decoded rows in memory between commits.

        `on_end` is called once with the last row of each key that ends. A watermark examines at most so many keys: what
        it leaves, the next one does.
        """
        super().__init__(PrefixedStore(store, _ROWS), cached)
        self._index = PrefixedStore(store, _DUE)
        self._examined_at_once = examined_at_once
        self._slot = max(ttl // _SLOTS, 1)
        self._earliest = self._examined = BEGINNING
        self._on_end = on_end
        self._absent: set[bytes] = set()
        self._ended: dict[bytes, Row] = {}

    def get_all(self, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the row of each key; None where a key is new, or has ended."""
        keys = list(keys)
        rows = super().get_all(keys)
        self._absent = {key for key, row in zip(keys, rows, strict=True) if row is None}
        known = ((key, row) for key, row in zip(keys, rows, strict=True) if row is not None)
        self._ended = {key: row for key, row in known if row[-1] < self._earliest}
        return [None if key in self._ended else row for key, row in zip(keys, rows, strict=True)]

    def put_all(self, keys: Sequence[bytes], rows: Sequence[Row]) -> None:
        """Set the rows of keys, all of which were asked for by the last `get_all`."""
        for key in keys:
            if key in self._ended:
                self._on_end(self._ended.pop(key))
        super().put_all(keys, rows)
        self._index.put_all(
            (self._due_key(key, row[-1]), b"") for key, row in zip(keys, rows, strict=True) if key in self._absent
        )

    def stored(self, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, Row]]:
        """Iterate over the keys in a range that have not ended, and their rows, as they are in the store."""
        return ((key, row) for key, row in super().stored(start, end) if row[-1] >= self._earliest)

    def resume(self, earliest: int) -> None:
        """Continue where the keys whose last event time is before this one have ended."""
        self._earliest = earliest

    def expire(self, earliest: int) -> None:
        """End the keys whose last event time is before this one, which only rises; delete some of them."""
        self._earliest = earliest
        if earliest - self._examined < self._slot:
            return
        due = list(self._index.scan(end=end_key(earliest + 1), limit=self._examined_at_once))
        names = [entry[_TIME_BYTES:] for entry, _ in due]
        rows = super().get_all(names)
        for (entry, _), name, row in zip(due, names, rows, strict=True):
            self._index.delete(entry)
            if row is None:
                continue
            if row[-1] < earliest:
                self._on_end(row)
                self.delete(name)
            else:
                self._index.put(self._due_key(name, row[-1]), b"")
        if len(due) < self._examined_at_once:
            self._examined = earliest

    def _due_key(self, key: bytes, time: int) -> bytes:
        """Return the entry of a key in the first slot that begins after a time."""
        return end_key((time // self._slot + 1) * self._slot) + key
