"""The open sessions of every key, and an index of their ends."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from streamapp_runtime.operators.window_bounds import due_below, end_key
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_BY_KEY, _AFTER_KEYS, _BY_END = b"k", b"l", b"e"
_END_BYTES = 8
_CACHED_KEYS = 100_000


class Session(msgspec.Struct, array_like=True, frozen=True):
    """One session [start, end) of a key with its row of partial results, in milliseconds."""

    start: int
    end: int
    row: list[Any]

    def touches(self, start: int, end: int) -> bool:
        """Return whether this session and another one overlap or touch."""
        return self.start <= end and start <= self.end


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Session]).decode


class SessionStates:
    """A map from keys to their open sessions in front of a store; changes reach the store with `flush`.

    The store has, beside the sessions of every key, one entry that orders keys by the end of their first session. No
    key may be another one with four bytes more: large values are stored in chunks.
    """

    def __init__(self, store: Store, cached: int = _CACHED_KEYS) -> None:
        """Keep the sessions of about `cached` keys in memory between commits."""
        self._store = store
        self._limit = cached
        self._sessions: dict[bytes, list[Session]] = {}
        self._stored_end: dict[bytes, int | None] = {}
        self._changed: set[bytes] = set()
        self._earliest = self._first_end()

    def get(self, key: bytes) -> Sequence[Session]:
        """Return the open sessions of a key."""
        if key not in self._sessions:
            data = get_chunks(self._store, _BY_KEY + key)
            sessions = self._sessions[key] = [] if data is None else _decode(data)
            self._stored_end[key] = min((session.end for session in sessions), default=None)
        return self._sessions[key]

    def put(self, key: bytes, sessions: list[Session]) -> None:
        """Set the open sessions of a key that `get` was called with."""
        self._sessions[key] = sessions
        self._changed.add(key)
        self._earliest = min([self._earliest, *(session.end for session in sessions)])

    def pop_ended(self, watermark: int) -> list[Session]:
        """Remove and return the sessions that end at or before the watermark, the first to end first."""
        if watermark < self._earliest:
            return []
        self._write()
        due: list[Session] = []
        for entry, _ in list(self._store.scan(_BY_END, _BY_END + due_below(watermark))):
            key = entry[len(_BY_END) + _END_BYTES :]
            sessions = self.get(key)
            due += [session for session in sessions if session.end <= watermark]
            self.put(key, [session for session in sessions if session.end > watermark])
        self._write()
        self._earliest = self._first_end()
        return sorted(due, key=lambda session: session.end)

    def stored(self) -> Iterator[Session]:
        """Iterate over the open sessions, as they are in the store."""
        for _, data in join_chunks(scan_pages(self._store, _BY_KEY, _AFTER_KEYS)):
            yield from _decode(data)

    def flush(self) -> None:
        """Write the changed sessions to the store; empty the cache if it has grown too large."""
        self._write()
        if len(self._sessions) > self._limit:
            self._sessions.clear()
            self._stored_end.clear()

    def _write(self) -> None:
        for key in sorted(self._changed):
            sessions = self._sessions[key]
            end = min((session.end for session in sessions), default=None)
            before = self._stored_end[key]
            if before is not None and before != end:
                self._store.delete(_BY_END + end_key(before) + key)
            if end is None:
                delete_chunks(self._store, _BY_KEY + key)
                del self._sessions[key], self._stored_end[key]
                continue
            put_chunks(self._store, _BY_KEY + key, _encode(sessions))
            if before != end:
                self._store.put(_BY_END + end_key(end) + key, b"")
                self._stored_end[key] = end
        self._changed.clear()

    def _first_end(self) -> int:
        """Return the end of the first session in the store; beyond all times if there is none."""
        for entry, _ in self._store.scan(_BY_END):
            return int.from_bytes(entry[len(_BY_END) : len(_BY_END) + _END_BYTES], "big") - (1 << 63)
        return 1 << 63
