"""State on disk: one LMDB environment per task, with a write-back cache in front (design 9, State)."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import lmdb

from streamapp_runtime.errors import RuntimeFailure

MAP_SIZE = 1 << 36
"""Address space for the state of one task (64 GiB, and 1,000 tasks fit one process); disk is used as it grows."""
_MAXIMUM_STORES = 1_024


class LmdbStore:
    """A store in LMDB. Writes wait in a dictionary, newest last, until the environment commits."""

    def __init__(self, environment: "LmdbEnvironment", database: "lmdb._Database") -> None:
        self._environment = environment
        self._database = database
        self._waiting: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """See `Store.get`."""
        if key in self._waiting:
            return self._waiting[key]
        value = self._environment.reader().get(key, db=self._database)
        return None if value is None else bytes(value)

    def put(self, key: bytes, value: bytes) -> None:
        """See `Store.put`."""
        self._waiting[key] = value

    def delete(self, key: bytes) -> None:
        """See `Store.delete`."""
        self._waiting[key] = None

    def scan(self, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """See `Store.scan`."""
        entries: dict[bytes, bytes | None] = {}
        with self._environment.reader().cursor(self._database) as cursor:
            if cursor.set_range(start):
                for key, value in ((bytes(key), bytes(value)) for key, value in cursor):
                    if end is not None and key >= end:
                        break
                    entries[key] = value
        entries.update((k, v) for k, v in self._waiting.items() if k >= start and (end is None or k < end))
        return iter(sorted((key, value) for key, value in entries.items() if value is not None))

    def write(self, transaction: lmdb.Transaction) -> None:
        """Move what waits into a transaction, in the order of keys, which LMDB writes fastest."""
        with transaction.cursor(self._database) as cursor:
            for key, value in sorted(self._waiting.items()):
                if value is not None:
                    cursor.put(key, value)
                elif cursor.set_key(key):
                    cursor.delete()
        self._waiting.clear()


class LmdbEnvironment:
    """The state of a task in a folder of its own, which no two workers of a machine open at once.

    A lock on the folder is held as long as the environment is open; the kernel frees it when its holder dies.
    """

    def __init__(self, folder: Path) -> None:
        """Open the state in a folder, making it if it is new.

        Raises:
            RuntimeFailure: another worker holds it, or it can't be opened.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RuntimeFailure(f"the state in {folder} can't be opened: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._environment = lmdb.open(
                str(folder), map_size=MAP_SIZE, max_dbs=_MAXIMUM_STORES, sync=False, readahead=False, lock=False
            )
        except BlockingIOError:
            os.close(self._lock)
            raise RuntimeFailure(
                f"the state in {folder} is in use by another worker; is the app running twice?"
            ) from None
        except lmdb.Error as error:
            os.close(self._lock)
            raise RuntimeFailure(f"the state in {folder} can't be opened: {error}") from None
        self._stores: dict[str, LmdbStore] = {}
        self._reader: lmdb.Transaction | None = None

    def reader(self) -> lmdb.Transaction:
        """Give the read transaction that all stores share until the next commit."""
        if self._reader is None:
            self._reader = self._environment.begin()
        return self._reader

    def store(self, name: str) -> LmdbStore:
        """See `Environment.store`."""
        if name not in self._stores:
            self._end_reading()
            self._stores[name] = LmdbStore(self, self._environment.open_db(name.encode()))
        return self._stores[name]

    def commit(self) -> None:
        """See `Environment.commit`."""
        self._end_reading()
        with self._environment.begin(write=True) as transaction:
            for store in self._stores.values():
                store.write(transaction)

    def close(self) -> None:
        """See `Environment.close`."""
        self._end_reading()
        self._environment.close()
        os.close(self._lock)

    def _end_reading(self) -> None:
        if self._reader is not None:
            self._reader.abort()
            self._reader = None
