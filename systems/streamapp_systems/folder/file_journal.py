"""The journal of a stream whose files become more: which files it has, in the order in which they were first seen.

A file is in the journal before any of its rows is read, so every reader and every restart finds the same rows at the
same offsets: the offset of a file's first record is the number of records of the files before it in its partition.
Several processes may write: the order is that of their transactions.
"""

import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamapp_systems.protocols import StreamSystemError

_BUSY_SECONDS = 30.0
_TABLES = (
    """CREATE TABLE stream (
        identity TEXT NOT NULL,
        partitions INTEGER NOT NULL,
        layout TEXT NOT NULL,
        version INTEGER,
        source TEXT
    )""",
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        partition INTEGER NOT NULL,
        name TEXT NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        modified INTEGER,
        records INTEGER NOT NULL,
        columns TEXT,
        end INTEGER NOT NULL
    )""",
    "CREATE INDEX ends ON files (partition, end)",
)
_FILE = "name, size, modified, records, columns, end"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A file as it was when it was first seen: its bytes, its modification time (ns since 1970), and its records.

    Of files that nobody changes the time is None. `columns` are the values of columns that the file lacks, as JSON.
    """

    name: str
    size: int
    modified: int | None
    records: int
    columns: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The version of a table up to which the journal has its files, and what tells the table from others."""

    version: int | None
    source: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFile:
    """A file with the offset that follows its last record."""

    file: SeenFile
    end: int

    @property
    def first(self) -> int:
        """The offset of its first record."""
        return self.end - self.file.records


class FileJournal:
    """The journal of one stream. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open a journal that `make_journal` made.

        Raises:
            StreamSystemError: there is none, or it can't be read.
        """
        self._path = path
        if not path.is_file():
            raise StreamSystemError(
                f"{path} is gone: it says which files were seen, and in which order. Put it back, or begin a new run"
            )
        with explained(path):
            self._connection = _connect(path)
            rows = self._connection.execute("SELECT identity, partitions, layout FROM stream").fetchall()
        ((self.identity, self.partitions, self.layout),) = rows

    def progress(self) -> Progress:
        """Return the version of a table that the journal has come to."""
        with explained(self._path):
            ((version, source),) = self._connection.execute("SELECT version, source FROM stream")
        return Progress(version, source)

    def append(
        self,
        files: Mapping[int, Sequence[SeenFile]],
        progress: Progress | None = None,
        after: int | None = None,
    ) -> bool:
        """Append files, by partition, that the journal does not have; those that it has stay as they are.

        Of a table, append the files of its next version: nothing is appended, and False returned, unless the journal
        has come to version `after`. It is durable when this returns.

        Raises:
            StreamSystemError: the journal can't be written, or is another app's now, which found it empty; a version
                adds a file again that another one has added.
        """
        with explained(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_layout()
                if progress is not None:
                    if self.progress().version != after:
                        return False
                    self._connection.execute(
                        "UPDATE stream SET version = ?, source = ?", (progress.version, progress.source)
                    )
                for partition, added in files.items():
                    end = self._end(partition)
                    for file in added:
                        end += file.records
                        row = (partition, file.name, file.size, file.modified, file.records, file.columns, end)
                        made = self._connection.execute(
                            f"INSERT INTO files (partition, {_FILE}) VALUES (?, ?, ?, ?, ?, ?, ?) "
                            "ON CONFLICT (name) DO NOTHING",
                            row,
                        )
                        if not made.rowcount:
                            if progress is not None:
                                raise StreamSystemError(
                                    f"version {progress.version} adds {file.name} again, which an earlier one has "
                                    f"added: its rows would be read twice. Remove journal {self._path} and begin a new "
                                    "run, which reads the table as it is now"
                                )
                            end -= file.records
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        return True

    def seen(self, after: int) -> tuple[int, list[SeenFile]]:
        """Return the number of the last file, and those whose numbers are above `after`."""
        with explained(self._path):
            rows = self._connection.execute(
                f"SELECT {_FILE}, id FROM files WHERE id > ? ORDER BY id",
                (after,),
            ).fetchall()
        return (rows[-1][-1] if rows else after), [_file(row[:-1]).file for row in rows]

    def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return the offset after the last record of each partition."""
        with explained(self._path):
            return {partition: self._end(partition) for partition in partitions}

    def find(self, partition: int, offset: int) -> JournalFile | None:
        """Return the file that has the record of an offset; None if it is behind the last one.

        Raises:
            StreamSystemError: the journal can't be read, or is another app's now, which found it empty.
        """
        with explained(self._path):
            self._check_layout()
            row = self._connection.execute(
                f"SELECT {_FILE} FROM files WHERE partition = ? AND end > ? ORDER BY end, id LIMIT 1",
                (partition, offset),
            ).fetchone()
        return None if row is None else _file(row)

    def named(self, beginning: str) -> list[SeenFile]:
        """Return the files whose names begin with a text that ends with a slash, in their order."""
        with explained(self._path):
            rows = self._connection.execute(
                f"SELECT {_FILE} FROM files WHERE name >= ? AND name < ? ORDER BY id",
                (beginning, beginning.removesuffix("/") + "0"),  # what follows the slash
            ).fetchall()
        return [_file(row).file for row in rows]

    def files(self, partition: int) -> Iterator[JournalFile]:
        """Yield the files of a partition that have records, in their order."""
        offset = 0
        while (found := self.find(partition, offset)) is not None:
            yield found
            offset = found.end

    def is_empty(self) -> bool:
        """Return whether nothing has been seen yet."""
        with explained(self._path):
            return _is_empty(self._connection)

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _check_layout(self) -> None:
        ((layout,),) = self._connection.execute("SELECT layout FROM stream")
        if layout != self.layout:
            raise StreamSystemError(
                f"journal {self._path} counts its files as {layout} now, and this app as {self.layout}: another app "
                "reads them as that. Correct the stream of one of them, or give this one a `journal` of its own"
            )

    def _end(self, partition: int) -> int:
        ((end,),) = self._connection.execute("SELECT max(end) FROM files WHERE partition = ?", (partition,))
        return int(end or 0)


def has_journal(path: Path) -> bool:
    """Return whether there is a journal that has been made.

    Raises:
        StreamSystemError: it can't be read.
    """
    if not path.is_file():
        return False
    with explained(path), closing(_connect(path)) as connection:
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema")
    return bool(tables)


def make_journal(path: Path, partitions: int, layout: str) -> None:
    """Make a journal if there is none; several processes may do so at once. It is durable when this returns.

    One of another layout that has seen nothing gets this one, and keeps its identity.

    Raises:
        StreamSystemError: it can't be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StreamSystemError(f"the folder of {path} can't be made: {error}") from error
    with explained(path), closing(_connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema")
        if not tables:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO stream VALUES (?, ?, ?, NULL, NULL)", (uuid.uuid4().hex, partitions, layout)
            )
        elif _is_empty(connection):
            connection.execute(
                "UPDATE stream SET partitions = ?, layout = ? WHERE layout <> ?", (partitions, layout, layout)
            )
        connection.execute("COMMIT")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into messages that name the file.

    Raises:
        StreamSystemError: for every `sqlite3.Error`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise StreamSystemError(
            f"journal {path}: {error}. The app writes there which files it has seen: it needs the right to, room on "
            "the disk, and a file system that locks files; `journal` of the system names another folder"
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    # Not WAL, whose memory the hosts that share a volume don't share.
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    ((found,),) = connection.execute("SELECT (SELECT version FROM stream) IS NULL AND NOT EXISTS (SELECT * FROM files)")
    return bool(found)


def _file(row: tuple[str, int, int | None, int, str | None, int]) -> JournalFile:
    name, size, modified, records, columns, end = row
    return JournalFile(
        file=SeenFile(name=name, size=size, modified=modified, records=records, columns=columns), end=end
    )
