"""The connection of a simulated producer to a log: its process may die within a transaction, or lose the power."""

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from simulation.simulated_process import SimulatedProcess

_FULL = 2
"""The setting `synchronous` from which on SQLite syncs each commit, as its documentation says."""
Image = tuple[bytes, bytes]
"""The content of a log's file, and of its journal."""


class LogImages:
    """What the disk has for sure of a log: what SQLite says that it has synced."""

    def __init__(self, path: Path, journal: Path) -> None:
        self.at_commit: Callable[[], object] | None = None
        """What is to happen while the next transaction of the app is written."""
        self._path = path
        self._journal = journal
        self._written: sqlite3.Connection | None = None
        """The connection whose transaction is being written."""
        self._synced: Image | None = None
        """The files as they were when they were last synced; None: all is."""

    def commit(self, connection: sqlite3.Connection, *, disturbed: bool) -> None:
        """Commit a transaction; if `disturbed`, what was to happen meanwhile happens."""
        if disturbed and (meet := self.at_commit) is not None:
            self.at_commit, self._written = None, connection
            meet()
            self._written = None
            return
        self._commit(connection)

    def around_power_loss(self) -> tuple[Image, Image]:
        """Return what is on the disk for sure, and what would be there if all had been written."""
        before = self._synced or self._read()
        if self._written is not None:
            self._commit(self._written)
        self._synced = None
        return before, self._read()

    def _commit(self, connection: sqlite3.Connection) -> None:
        ((synchronous,),) = connection.execute("PRAGMA synchronous")
        if synchronous < _FULL and self._synced is None:
            self._synced = self._read()
        connection.execute("COMMIT")
        if synchronous >= _FULL:
            self._synced = None

    def _read(self) -> Image:
        return self._path.read_bytes(), self._journal.read_bytes() if self._journal.exists() else b""


class DisturbedConnection:
    """See `sqlite3.Connection`. A transaction that writes has steps: before it, and before each of its statements.

    Within it, its process may die; nobody else goes on, as others would wait for it.
    """

    def __init__(self, connection: sqlite3.Connection, images: LogImages, process: SimulatedProcess | None) -> None:
        """Take the process that has it open; None: one that nothing disturbs."""
        self._connection = connection
        self._images = images
        self._process = process

    @property
    def in_transaction(self) -> bool:
        """See `sqlite3.Connection.in_transaction`; after a loss of power there is no connection."""
        try:
            return self._connection.in_transaction
        except sqlite3.ProgrammingError:
            return False

    def execute(self, statement: str, parameters: Any = ()) -> Any:
        """See `sqlite3.Connection.execute`."""
        if statement == "COMMIT":
            self._images.commit(self._connection, disturbed=self._process is not None)
            return self._raise_if_dead()
        if statement == "ROLLBACK":  # of a dead process, the kernel does it
            return self._connection.execute(statement)
        if statement.startswith("BEGIN IMMEDIATE"):
            self._step()
        elif not statement.startswith("SELECT"):
            self._point()
        return self._connection.execute(statement, parameters)

    def executemany(self, statement: str, parameters: Iterable[Any]) -> Any:
        """See `sqlite3.Connection.executemany`."""
        self._point()
        return self._connection.executemany(statement, parameters)

    def close(self) -> None:
        """See `sqlite3.Connection.close`."""
        self._connection.close()

    def _step(self) -> None:
        if self._process is not None:
            self._process.step("EndTxn")

    def _point(self) -> None:
        if self._process is not None:
            self._process.point("EndTxn, write")

    def _raise_if_dead(self) -> None:
        if self._process is not None:
            self._process.raise_if_dead()
