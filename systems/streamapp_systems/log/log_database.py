"""The SQLite file of a log: its opening, its tables and its errors.

A partition is a shard, and a record's row id is `first_row(shard) + offset`: the records of a partition lie next to
each other in one B-tree, and reading on from an offset is one range scan, while large values stay out of the way on
overflow pages.

The file is in WAL mode: readers never wait for writers. With `synchronous=FULL` a transaction that was committed is on
the disk: it survives the death of any process, and a loss of power too. It costs one sync per commit.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamapp_systems.protocols import StreamSystemError

BUSY_SECONDS = 30.0
"""Seconds a writer waits for others. A transaction takes milliseconds, so this much means that one hangs."""

_APPLICATION_ID = 0x53_41_4C_47
_VERSION = 2
_PAGE_SIZE = 16_384
_OFFSET_BITS = 40
_TABLES = (
    "CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL UNIQUE)",
    """CREATE TABLE shards (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        stream INTEGER NOT NULL REFERENCES streams,
        partition INTEGER NOT NULL,
        next_offset INTEGER NOT NULL DEFAULT 0,
        UNIQUE (stream, partition)
    )""",
    "CREATE TABLE fences (id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, turn INTEGER NOT NULL)",
    "CREATE TABLE records (id INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, key BLOB, value BLOB)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)
_IDENTITY = """
    SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
    FROM pragma_application_id, pragma_user_version
"""
_UPGRADES: dict[int | None, tuple[str, ...]] = {
    1: ("ALTER TABLE fences ADD COLUMN turn INTEGER NOT NULL DEFAULT 0", "PRAGMA user_version = 2")
}
"""The statements that upgrade a log of an earlier version to the next."""


def first_row(shard: int) -> int:
    """Return the row id of a shard's offset 0; all its records have ids below that of the next shard."""
    return shard << _OFFSET_BITS


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a log, making it if there is no file; many processes may do so at once.

    Statements commit by themselves outside of `transaction`.

    Raises:
        StreamSystemError: the file is no log, is of a newer version, or can't be opened; the message says what to do.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StreamSystemError(f"log {path}: its folder can't be made: {error}") from error
    with explained(path):
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path, *, write: bool) -> Iterator[None]:
    """Run statements on one state of the log; `write` takes the write lock first. Undone by any exception."""
    with explained(path):
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into messages that name the file and say what to do.

    Raises:
        StreamSystemError: for every `sqlite3.Error`.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        advice = next((text for code, text in _ADVICE if name.startswith(code)), "See the message above")
        raise StreamSystemError(f"log {path}: {error} ({name}). {advice}") from error


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    version = _version_of(connection, path)
    if version in _UPGRADES:
        _upgrade(connection, path)
    if version is not None:
        return
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    _switch_to_wal(connection)
    with transaction(connection, path, write=True):
        if _version_of(connection, path) is None:
            for statement in _TABLES:
                connection.execute(statement)


def _version_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the version of a log; None of an empty file, and all else is refused."""
    ((application_id, version, tables),) = connection.execute(_IDENTITY)
    if application_id == 0 and tables == 0:
        return None
    if application_id != _APPLICATION_ID:
        raise StreamSystemError(f"log {path} is a database of another program: correct the system's path")
    if version > _VERSION:
        raise StreamSystemError(
            f"log {path} was written by a newer release (version {version}, not {_VERSION}): use that one"
        )
    return int(version)


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection, path, write=True):
        while (version := _version_of(connection, path)) in _UPGRADES:
            for statement in _UPGRADES[version]:
                connection.execute(statement)


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the journal's mode; SQLite does not wait by itself when others switch or write at that moment."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


_ADVICE = (
    ("SQLITE_NOTADB", "This file is something else: correct the system's path"),
    ("SQLITE_CORRUPT", "The file is damaged: restore it, or remove it and begin a new run"),
    ("SQLITE_BUSY", "Another process holds its write lock and does not go on: find and end it"),
    ("SQLITE_READONLY", "Make the file and its folder writable for this user"),
    ("SQLITE_CANTOPEN", "Check that the path is a file and that its folder is writable for this user"),
    ("SQLITE_PERM", "Make the file and its folder writable for this user"),
    ("SQLITE_FULL", "The disk is full: make room; nothing of this transaction was written"),
    ("SQLITE_IOERR", "The disk failed or is full: check it; nothing of this transaction was written"),
)
