"""Metadata in one SQLite file: the store of apps that run on one machine."""

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from streamapp_core.metadata_store import ABSENT, VersionConflict, Versioned
from streamapp_systems.protocols import StreamSystemError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS newest (version INTEGER NOT NULL) STRICT;
INSERT INTO newest SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM newest);
"""
_BUSY_SECONDS = 30.0


class SqliteMetadataStore:
    """A store that outlives its process and takes several writers. A write is durable when it returns.

    Versions come from one counter, so a key that was deleted and made again never has an old version again. Every
    method raises StreamSystemError where the disk fails or is full; a write that does has written nothing. Used by any
    thread.
    """

    def __init__(self, path: Path) -> None:
        """Open the store, making it if it is new.

        Raises:
            StreamSystemError: the file can't be opened as a store.
        """
        self._path = path
        self._lock = threading.RLock()
        with self._explained("opened"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.executescript(_SCHEMA)

    def get(self, key: str) -> Versioned | None:
        """See `MetadataStore.get`."""
        with self._explained("read"):
            row = self._connection.execute("SELECT value, version FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else Versioned(value=row[0], version=row[1])

    def put(self, key: str, value: bytes, expected: int | None = None) -> int:
        """See `MetadataStore.put`."""
        with self._writing():
            self._expect(key, expected)
            return self._put(key, value)

    def put_all(self, values: Mapping[str, bytes]) -> None:
        """See `MetadataStore.put_all`."""
        with self._writing():
            for key, value in values.items():
                self._put(key, value)

    def delete(self, key: str, expected: int | None = None) -> None:
        """See `MetadataStore.delete`."""
        with self._writing():
            self._expect(key, expected)
            self._connection.execute("DELETE FROM entries WHERE key = ?", (key,))

    def all(self, prefix: str = "") -> Mapping[str, Versioned]:
        """See `MetadataStore.all`."""
        query = "SELECT key, value, version FROM entries WHERE substr(key, 1, ?) = ? ORDER BY key"
        with self._explained("read"):
            rows = self._connection.execute(query, (len(prefix), prefix)).fetchall()
        return {key: Versioned(value=value, version=version) for key, value, version in rows}

    def flush(self) -> None:
        """See `MetadataStore.flush`."""

    def close(self) -> None:
        """See `MetadataStore.close`. A write that is under way in another thread ends first; a later one fails."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._explained("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (OSError, sqlite3.Error) as error:
            raise StreamSystemError(f"the metadata in {self._path} can't be {done}: {error}") from error

    def _expect(self, key: str, expected: int | None) -> None:
        entry = self.get(key)
        found = ABSENT if entry is None else entry.version
        if expected is not None and found != expected:
            raise VersionConflict(key, expected, found)

    def _put(self, key: str, value: bytes) -> int:
        (version,) = self._connection.execute("UPDATE newest SET version = version + 1 RETURNING version").fetchone()
        self._connection.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", (key, value, version))
        return int(version)
