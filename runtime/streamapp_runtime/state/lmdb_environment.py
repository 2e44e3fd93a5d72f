"""State on disk: one LMDB environment per task, with a write-back cache in front (docs/architecture.md)."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pyarrow as pa

from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.state.entry_columns import Entries, WrittenColumns, entry_columns, read_values
from streamapp_runtime.state.store_size import StoreSize

MAP_SIZE = 1 << 36
"""Address space for the state of one task (64 GiB, and 1,000 tasks fit one process); disk is used as it grows."""
DATA_FILE = "data.mdb"
_MAXIMUM_STORES = 1_024


class DamagedState(RuntimeFailure):
    """The files in a state folder are no state, or incomplete: restore them from the changelog."""


def size_of(transaction: lmdb.Transaction, database: "lmdb._Database") -> StoreSize:
    """Return the size of a database, which LMDB keeps with it."""
    stat = transaction.stat(database)
    pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
    return StoreSize(entries=stat["entries"], bytes=pages * stat["psize"])


class LmdbStore:
    """A store in LMDB. Writes are buffered until the environment commits: in a dictionary, or as columns."""

    def __init__(self, environment: "LmdbEnvironment", database: "lmdb._Database") -> None:
        self._environment = environment
        self.database = database
        self._waiting: dict[bytes, bytes | None] = {}
        """The entries written since the last commit; None: deleted. Empty while there are columns of entries."""
        self._columns = WrittenColumns()
        self._sorted: list[bytes] = []
        """The keys that wait when they were last scanned; it is up to date if there are as many."""

    def get(self, key: bytes) -> bytes | None:
        """See `Store.get`."""
        waiting = self._entries()
        if key in waiting:
            return waiting[key]
        value = self._environment.reader().get(key, db=self.database)
        return None if value is None else bytes(value)

    def put(self, key: bytes, value: bytes) -> None:
        """See `Store.put`."""
        self._entries()[key] = value

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """See `Store.put_all`."""
        self._entries().update(entries)

    def delete(self, key: bytes) -> None:
        """See `Store.delete`."""
        self._entries()[key] = None

    def get_column(self, keys: pa.BinaryArray) -> pa.BinaryArray:
        """See `Store.get_column`."""
        if not self._waiting and not self._columns:
            found = read_values(self._environment.reader(), self.database, keys)
            if found is not None:
                return found
        return pa.array(map(self.get, keys.to_pylist()), pa.binary())

    def put_columns(self, keys: pa.BinaryArray, values: pa.BinaryArray, *, is_sorted: bool = True) -> None:
        """See `Store.put_columns`; if they are not sorted, a key may come twice, of which the last value counts."""
        for entries in entry_columns(sorted(self._waiting.items())):
            self._columns.append(entries, is_sorted=True)
        self._waiting.clear()
        self._sorted = []
        self._columns.append(Entries(keys, values), is_sorted=is_sorted)

    def scan(
        self, start: bytes = b"", end: bytes | None = None, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """See `Store.scan`."""
        waiting = self._entries()
        entries: list[tuple[bytes, bytes]] = []
        with self._environment.reader().cursor(self.database) as cursor:
            if cursor.set_range(start):
                for key, value in ((bytes(key), bytes(value)) for key, value in cursor):
                    if len(entries) == limit or (end is not None and key >= end):
                        break
                    if key not in waiting:
                        entries.append((key, value))
        if len(self._sorted) != len(waiting):
            self._sorted = sorted(waiting)
        first = bisect_left(self._sorted, start)
        last = len(self._sorted) if end is None else bisect_left(self._sorted, end)
        written = [(name, new) for name in self._sorted[first:last] if (new := waiting[name]) is not None]
        return iter(sorted(entries + written)[:limit] if written else entries)

    def changes(self) -> Iterator[Entries]:
        """Return what was written since the last commit, the newest value of each key, in the order of keys."""
        if self._columns and self._columns.sort():
            return iter(self._columns)
        return entry_columns(sorted(self._entries().items()))

    def forget_waiting(self) -> None:
        """Forget the entries written since the last commit."""
        self._columns.clear()
        self._waiting.clear()
        self._sorted = []

    def write(self, transaction: lmdb.Transaction) -> None:
        """Put the buffered writes into a transaction, in the order of keys, which LMDB writes fastest."""
        if self._columns and self._columns.write(transaction, self.database):
            return
        waiting = self._entries()
        with transaction.cursor(self.database) as cursor:
            keys = sorted(waiting)
            cursor.putmulti([(key, value) for key in keys if (value := waiting[key]) is not None])
            for key in keys:
                if waiting[key] is None and cursor.set_key(key):
                    cursor.delete()

    def _entries(self) -> dict[bytes, bytes | None]:
        """Return the entries that wait, none of them in columns."""
        for keys, values in self._columns:
            self._waiting.update(zip(keys.to_pylist(), values.to_pylist(), strict=True))
        self._columns.clear()
        return self._waiting


class LmdbEnvironment:
    """The stores in one folder. The caller holds the folder's lock (`FolderLock`), so nobody else has it open."""

    def __init__(self, folder: Path) -> None:
        """Open the state in a folder, creating it if it is new.

        Raises:
            DamagedState: there are files, but they are no state.
            RuntimeFailure: the folder can't be used.
        """
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._environment = lmdb.open(
                str(folder), map_size=MAP_SIZE, max_dbs=_MAXIMUM_STORES, sync=False, readahead=False, lock=False
            )
        except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError) as error:
            raise DamagedState(f"the state in {folder} is damaged: {error}") from None
        except (OSError, lmdb.Error) as error:
            raise RuntimeFailure(f"the state in {folder} can't be opened: {error}") from None
        self._stores: dict[str, LmdbStore] = {}
        self._reader: lmdb.Transaction | None = None
        self._refuse_truncated_file()

    def reader(self) -> lmdb.Transaction:
        """Return the read transaction that all stores share until the next commit."""
        if self._reader is None:
            self._reader = self._environment.begin()
        return self._reader

    def store(self, name: str) -> LmdbStore:
        """See `Environment.store`.

        Raises:
            RuntimeFailure: a new store can't be created.
        """
        if name not in self._stores:
            with self._write_transaction() as transaction:
                database = self._environment.open_db(name.encode(), transaction)
            self._stores[name] = LmdbStore(self, database)  # not if the commit failed: LMDB does not know it then
        return self._stores[name]

    def changes(self, name: str) -> Iterator[Entries]:
        """See `Environment.changes`."""
        return self.store(name).changes()

    def commit(self) -> None:
        """See `Environment.commit`.

        Raises:
            RuntimeFailure: the state can't be written; nothing of this commit was.
        """
        with self._write_transaction() as transaction:
            for store in self._stores.values():
                store.write(transaction)
        for store in self._stores.values():
            store.forget_waiting()

    def size(self, name: str) -> StoreSize:
        """Return the size of a store at its last commit, without reading it."""
        database = self.store(name).database  # to open it may end the read transaction
        return size_of(self.reader(), database)

    def clear(self, name: str) -> None:
        """Empty a store at once."""
        store = self.store(name)
        store.forget_waiting()
        with self._write_transaction() as transaction:
            transaction.drop(store.database, delete=False)

    def discard(self) -> None:
        """Drop what was written since the last commit."""
        for store in self._stores.values():
            store.forget_waiting()

    def sync(self) -> None:
        """Sync everything committed to the disk, so that it survives a crash of the machine."""
        with self._translated_errors():
            self._environment.sync(True)

    def close(self) -> None:
        """See `Environment.close`."""
        self._end_read_transaction()
        self._environment.close()

    @contextmanager
    def _write_transaction(self) -> Iterator[lmdb.Transaction]:
        """Open a transaction for writing; it commits at the end, or nothing of it does.

        Raises:
            RuntimeFailure: the state can't be written.
        """
        self._end_read_transaction()
        with self._translated_errors(), self._environment.begin(write=True) as transaction:
            yield transaction
        self._extend_file()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except lmdb.Error as error:
            raise RuntimeFailure(f"the state in {self._folder} can't be written: {error}; is the disk full?") from None

    def _end_read_transaction(self) -> None:
        if self._reader is not None:
            self._reader.abort()
            self._reader = None

    def _extend_file(self) -> None:
        """Extend the file to all its pages: LMDB does not write those at its end that a transaction used and freed."""
        path, size = self._folder / DATA_FILE, self._content_size()
        if path.stat().st_size < size:
            os.truncate(path, size)

    def _content_size(self) -> int:
        return int((self._environment.info()["last_pgno"] + 1) * self._environment.stat()["psize"])

    def _refuse_truncated_file(self) -> None:
        """Refuse a file that is shorter than its content: reading beyond its end would kill the process."""
        if (self._folder / DATA_FILE).stat().st_size < self._content_size():
            self._environment.close()
            raise DamagedState(f"the state in {self._folder} is damaged: its file is truncated")
