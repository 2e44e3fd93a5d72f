"""The reading of one partition: file after file of its journal, from an offset on."""

from collections.abc import Callable

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.file.file_cursor import FileCursor, PartitionFile
from streamapp_systems.folder.file_journal import JournalFile, SeenFile
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import BadRecord, FetchedBatch, StreamSystemError, VersionGone

_MAXIMUM_BYTES = 16 << 20
_PUT_BACK = "Put the old file back with its modification time, and add rows in new files; or: "

FindFile = Callable[[int], JournalFile | None]
"""Finds the file that has the record of an offset."""


class FileChain:
    """Reads the rows of a partition's files in order. A file is open while it is read."""

    def __init__(
        self,
        ssp: Ssp,
        *,
        offset: int,
        find: FindFile,
        path: Callable[[str], Place],
        file_format: Callable[[SeenFile], FileFormat],
        schema: pa.Schema,
        version: str | None = None,
    ) -> None:
        """Begin at an offset. `version` is that of all files where these are no journal's."""
        self.ssp = ssp
        self.offset = offset
        self._find = find
        self._path = path
        self._format = file_format
        self._schema = schema
        self._version = version
        self._cursor: FileCursor | None = None
        self._file: JournalFile | None = None
        self._opened: Place | None = None
        """The place of the file, as it was opened: of an object, this version alone is read."""
        self._failure: StreamSystemError | None = None

    @property
    def opened(self) -> bool:
        """Whether a file is open."""
        return self._cursor is not None

    def take(self, limit: int) -> FetchedBatch:
        """Read up to `limit` rows, fewer if they are large; none if the journal has no more.

        Raises:
            BadRecord: the next record can't be read; the one after it is next.
            VersionGone: a file of a version is gone, or has changed.
            StreamSystemError: a file is gone, has changed since it was seen, or can't be read.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        start, read = self.offset, list[FetchedBatch]()
        size = 0
        while (left := start + limit - self.offset) > 0 and size < _MAXIMUM_BYTES:
            try:
                batch = self._take(left)
            except StreamSystemError as failure:
                if not read:
                    raise
                self._failure = failure
                break
            if batch.rows is None:
                break
            read.append(batch)
            size += batch.rows.nbytes
        rows = [batch.rows for batch in read]
        end = read[-1].next_offset if read else start
        return FetchedBatch(ssp=self.ssp, offset=start, next_offset=end, rows=pa.concat_batches(rows) if rows else None)

    def _take(self, limit: int) -> FetchedBatch:
        """Read up to `limit` rows of one file."""
        start = self.offset
        cursor = self._open()
        if cursor is None or self._file is None or self._opened is None:
            return FetchedBatch(ssp=self.ssp, offset=start, next_offset=start)
        try:
            batch = cursor.take(limit)
        except BadRecord as bad:
            self._check(self._file.file, self._opened)
            self._move(bad.offset + 1)
            raise
        except StreamSystemError:
            self._check(self._file.file, self._path(self._file.file.name))  # one that has changed says why it can't
            raise
        self._check(self._file.file, self._opened)
        self._move(batch.next_offset)
        return FetchedBatch(ssp=self.ssp, offset=start, next_offset=batch.next_offset, rows=batch.rows)

    def close(self) -> None:
        """Close the file that is open."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _move(self, offset: int) -> None:
        self.offset = offset
        if self._file is not None and offset >= self._file.end:
            self.close()

    def _open(self) -> FileCursor | None:
        if self._cursor is None:
            self._file = found = self._find(self.offset)
            if found is None:
                return None
            self._opened = self._path(found.file.name)
            self._check(found.file, self._opened)
            part = PartitionFile(
                ssp=self.ssp,
                path=self._opened,
                format=self._format(found.file),
                schema=self._schema,
                end=found.end,
                first=found.first,
            )
            self._cursor = FileCursor(part, self.offset)
        return self._cursor

    def _check(self, seen: SeenFile, path: Place) -> None:
        """Check that a file is as it was when it was first seen: by its size and its modification time."""
        try:
            found = path.stat()
        except OSError as error:
            if self._version is not None and isinstance(error, FileNotFoundError):
                raise VersionGone(f"{self.ssp}: {path}, a file of version {self._version}, is gone") from error
            advice = "Put it back with its modification time, or begin a new run"
            if seen.modified is None:
                advice = (
                    "If it was vacuumed, remove the journal and begin a new run, which reads the table as it is now"
                )
            raise StreamSystemError(
                f"{self.ssp}, offset {self.offset}: {path} is gone or can't be read before all its rows were: {error}. "
                f"{advice}"
            ) from error
        if found.st_size != seen.size or seen.modified not in (None, found.st_mtime_ns):
            if self._version is not None:
                raise VersionGone(f"{self.ssp}: {path}, a file of version {self._version}, has changed")
            raise StreamSystemError(
                f"{self.ssp}, offset {self.offset}: {path} has changed since it was first seen, when it had "
                f"{seen.size} bytes (now {found.st_size}): its rows would be others than those that were counted. "
                f"{'' if isinstance(path, ObjectPath) else _PUT_BACK}Remove the journal and begin a new run"
            )
