"""The log of a Delta table, as far as reading rows that are appended needs it: commits, checkpoints, columns.

The format is that of PROTOCOL.md of Delta Lake. Tables whose readers need more than is understood here are refused.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_systems.file.parquet_format import opened_parquet
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import StreamSystemError, VersionGone

LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_VERSION = re.compile(r"\d{20}")
_LATEST_READER = 3
_FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "vacuumProtocolCheck"})
"""The features of readers that are understood, or found where they are used: mapped columns and deleted rows."""
_MAPPING = "delta.columnMapping.mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetadata:
    """The metadata of a table: what tells it from others, and its columns in Delta's JSON."""

    id: str
    schema: str
    partition_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of a table: its path in the table's folder, the texts of its partition columns, when it was made (ms).

    `written` is the path as the log has it.
    """

    path: str
    written: str
    values: Mapping[str, str | None]
    modified: int
    size: int
    deletes_rows: bool


@dataclass(slots=True, kw_only=True)
class Commit:
    """A version of a table: the files with new rows, and those that it removes because rows change or go.

    It does not say in which partitions `unplaced` ones were. `change_data` are the files of the change data feed.
    `files` and `gone` have all that it adds and removes, also without new rows; `metadata` is None if it stays.
    """

    version: int
    operation: str = "an operation without a name"
    metadata: TableMetadata | None = None
    added: list[DataFile] = field(default_factory=list)
    removed: list[DataFile] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    change_data: list[DataFile] = field(default_factory=list)
    files: list[DataFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A table as it is at a version."""

    version: int
    metadata: TableMetadata
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStat:
    """The file of a commit, from outside: commits never change, so another one is of another table."""

    version: int
    size: int
    modified: int


class DeltaLog:
    """The log of one table."""

    def __init__(self, table: Place) -> None:
        self._table = table
        self._log = table / LOG
        self._latest = -1
        """The latest version that was found."""

    def check_there(self) -> None:
        """Check that there is a table, by no more than a request.

        Raises:
            StreamSystemError: there is none.
        """
        if isinstance(self._log, ObjectPath):
            if not self._log.is_dir():
                raise self._none(f"no objects {self._log}/...")
        else:
            self._names()

    def latest_version(self) -> int:
        """Return the number of the latest version; -1 if there is none.

        Raises:
            StreamSystemError: there is no table.
        """
        if isinstance(self._log, ObjectPath) and self._latest >= 0 and self._path_of(self._latest).exists():
            while self._path_of(self._latest + 1).exists():  # to list a long log each time would cost more
                self._latest += 1
        else:
            self._latest = max(self._commits(self._names()), default=-1)
        return self._latest

    def latest_with_files(self) -> int:
        """Return the number of the latest version whose files or columns are not those of the one before.

        It is the latest one where the log does not go back so far.

        Raises:
            StreamSystemError: there is no table, or its log can't be read.
        """
        latest = version = self.latest_version()
        while version > 0:
            try:
                commit = self.commit(version)
            except VersionGone:
                return latest
            if commit.files or commit.gone or commit.metadata:
                break
            version -= 1
        return version

    def latest_commit(self) -> CommitStat | None:
        """Return what the latest commit looks like; None if it has just gone.

        Raises:
            StreamSystemError: there is no table.
        """
        return self._stat(self.latest_version())

    def has(self, commit: CommitStat) -> bool:
        """Return whether a commit is still there as it was."""
        return self._stat(commit.version) == commit

    def _stat(self, version: int) -> CommitStat | None:
        try:
            found = self._path_of(version).stat()
        except OSError:
            return None
        return CommitStat(version=version, size=found.st_size, modified=found.st_mtime_ns)

    def _path_of(self, version: int) -> Place:
        return self._log / f"{version:020}.json"

    def commit(self, version: int) -> Commit:
        """Read a version.

        Raises:
            VersionGone: its commit is gone.
            StreamSystemError: it can't be read, or its readers need what is not understood here.
        """
        path = self._path_of(version)
        try:
            lines = path.read_bytes().splitlines()
            actions = [json.loads(line) for line in lines if line.strip()]
        except FileNotFoundError:
            raise VersionGone(
                f"table {self._table}: version {version} is gone from its log, which keeps versions for "
                "`delta.logRetentionDuration`: its rows can't be told from others any more. Remove the journal, and "
                "begin a new run, which reads the table as it is now"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise StreamSystemError(f"table {self._table}: {path} can't be read: {error}") from error
        return self._commit(version, actions)

    def fingerprint(self, version: int) -> str:
        """Return what tells the commit of a version from those of other tables.

        Raises:
            VersionGone: it is gone.
            StreamSystemError: it can't be read.
        """
        path = self._path_of(version)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        except FileNotFoundError:
            raise VersionGone(f"table {self._table}: there is no {path}") from None
        except OSError as error:
            raise StreamSystemError(f"table {self._table}: {path} can't be read: {error}") from error

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Read a version of the table as a whole, by default the latest one.

        Raises:
            VersionGone: a commit that it follows from is gone.
            StreamSystemError: there is none, or it can't be read.
        """
        names = self._names()
        if version is not None:
            names = [name for name in names if (found := _VERSION.match(name)) and int(found[0]) <= version]
        checkpoint, parts = self._latest_checkpoint(names)
        commits = [version for version in self._commits(names) if version > checkpoint]
        metadata: TableMetadata | None = None
        files: dict[str, DataFile] = {}
        read = [self._checkpoint(checkpoint, parts)] if parts else []
        for commit in (*read, *map(self.commit, range(checkpoint + 1, max(commits, default=checkpoint) + 1))):
            metadata = commit.metadata or metadata
            for path in commit.gone:
                files.pop(path, None)
            files.update((file.path, file) for file in commit.files)
        if metadata is None:
            raise StreamSystemError(f"table {self._table}: its log has no metadata; is it a table of Delta?")
        return Snapshot(
            version=max(commits, default=checkpoint),
            metadata=metadata,
            files=tuple(sorted(files.values(), key=lambda file: (file.modified, file.path))),
        )

    def check_whole(self, files: Iterable[DataFile]) -> None:
        """Refuse files some of whose rows are marked as deleted.

        Raises:
            StreamSystemError: there is one.
        """
        marked = next((file.path for file in files if file.deletes_rows), None)
        if marked is not None:
            raise StreamSystemError(
                f"table {self._table}: rows of {marked} are marked as deleted (deletion vectors), which is not read. "
                "Rewrite the table without them: REORG TABLE ... APPLY (PURGE)"
            )

    def _names(self) -> list[str]:
        try:
            names = [path.name for path in self._log.iterdir()]
        except OSError as error:
            raise self._none(error.strerror) from error
        if not names and isinstance(self._log, ObjectPath):
            raise self._none(f"no objects {self._log}/...")
        return names

    def _none(self, why: str | None) -> StreamSystemError:
        return StreamSystemError(
            f"there is no table of Delta at {self._table} ({why}). Correct the stream's name, or create the table"
        )

    @staticmethod
    def _commits(names: Iterable[str]) -> list[int]:
        return [int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))]

    @staticmethod
    def _latest_checkpoint(names: Sequence[str]) -> tuple[int, list[str]]:
        """Return the version of the latest checkpoint of which all parts are there, and their names; -1: none."""
        groups: dict[tuple[int, int], list[str]] = {}
        for name in sorted(names):
            if found := _CHECKPOINT.fullmatch(name):
                groups.setdefault((int(found[1]), int(found[3] or 1)), []).append(name)
        whole = [(version, parts) for (version, count), parts in groups.items() if len(parts) == count]
        return max(whole, default=(-1, []))

    def _checkpoint(self, version: int, parts: Sequence[str]) -> Commit:
        actions: list[dict[str, Any]] = []
        for part in parts:
            try:
                found = pq.read_table(
                    opened_parquet(self._log / part), columns=["protocol", "metaData", "add"], partitioning=None
                ).to_pylist(maps_as_pydicts="strict")
            except (OSError, ValueError, pa.ArrowException) as error:
                raise StreamSystemError(f"table {self._table}: {self._log / part} can't be read: {error}") from error
            actions += [{name: action} for row in found for name, action in row.items() if action is not None]
        return self._commit(version, actions)

    def _commit(self, version: int, actions: Iterable[Mapping[str, Any]]) -> Commit:
        commit = Commit(version=version)
        try:
            for action in actions:
                for name, value in action.items():
                    self._take(commit, name, value)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise StreamSystemError(
                f"table {self._table}: version {version} of its log is not as Delta's are: {error!r}"
            ) from error
        return commit

    def _take(self, commit: Commit, name: str, value: Mapping[str, Any]) -> None:
        match name:
            case "add":
                file = self._file(value)
                commit.files.append(file)
                if value["dataChange"]:
                    commit.added.append(file)
            case "remove":
                commit.gone.append(self._path(value["path"]))
                if value["dataChange"]:
                    file = self._file({**value, "partitionValues": value.get("partitionValues") or {}})
                    commit.removed.append(file)
                    commit.unplaced += [file.path] if value.get("partitionValues") is None else []
            case "cdc":
                commit.change_data.append(self._file(value))
            case "protocol":
                self._check_protocol(commit.version, value)
            case "metaData":
                if (value.get("configuration") or {}).get(_MAPPING, "none") != "none":
                    raise StreamSystemError(
                        f"table {self._table}: its columns have other names in its files (column mapping), which is "
                        f"not read: write a copy without `{_MAPPING}`"
                    )
                commit.metadata = TableMetadata(
                    id=value["id"],
                    schema=value["schemaString"],
                    partition_columns=tuple(value["partitionColumns"]),
                )
            case "commitInfo":
                commit.operation = str(value.get("operation", commit.operation))
            case _:
                pass

    def _check_protocol(self, version: int, protocol: Mapping[str, Any]) -> None:
        needed = set(protocol.get("readerFeatures") or ()) - _FEATURES
        if needed or protocol["minReaderVersion"] > _LATEST_READER:
            raise StreamSystemError(
                f"table {self._table}: since version {version} its readers need "
                f"{', '.join(sorted(needed)) or 'a newer version of the protocol'}, which this release has not. "
                "Write a copy of the table without"
            )

    def _file(self, value: Mapping[str, Any]) -> DataFile:
        return DataFile(
            path=self._path(value["path"]),
            written=value["path"],
            values=dict(value["partitionValues"]),
            modified=value.get("modificationTime", 0),
            size=value.get("size") or 0,
            deletes_rows=value.get("deletionVector") is not None,
        )

    def _path(self, written: str) -> str:
        path = unquote(written)
        if path.startswith("/") or re.match(r"[a-z0-9]+:", path):
            raise StreamSystemError(
                f"table {self._table}: file {path} lies in another place (a shallow clone?), which is not read: make a "
                "deep copy of the table"
            )
        return path
