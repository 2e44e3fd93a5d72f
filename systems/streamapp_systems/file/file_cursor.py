"""The reading of one file from an offset to an end."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.file.file_chunks import Chunk, FileFormat, UnreadableRow
from streamapp_systems.objects import Place
from streamapp_systems.protocols import BadRecord, FetchedBatch, StreamSystemError

_MAXIMUM_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFile:
    """A file of a partition: its format, its columns, and the offset its reading ends at (None: its end).

    Its first record has the offset `first`.
    """

    ssp: Ssp
    path: Place
    format: FileFormat
    schema: pa.Schema
    end: int | None
    first: int = 0


class FileCursor:
    """Reads the rows of one file in order. The file is open from the first `take` until it is finished."""

    def __init__(self, file: PartitionFile, start: int) -> None:
        self._file = file
        self._offset = start
        self._chunks: Iterator[Chunk] | None = None
        self._rest: Chunk | None = None
        self.finished = False

    @property
    def opened(self) -> bool:
        """Whether the file is open."""
        return self._chunks is not None

    def take(self, limit: int) -> FetchedBatch:
        """Read up to `limit` rows, fewer if they are large; sets `finished` when no more will come.

        Raises:
            BadRecord: the next record can't be read; the one after it is next.
            StreamSystemError: the file can't be read, or has become shorter.
        """
        start, end = self._offset, self._file.end
        batches = self._gather(limit if end is None else min(limit, end - start))
        ended = end is not None and self._offset >= end
        self.finished = self.finished or ended
        if self.finished:
            self.close()
        return FetchedBatch(
            ssp=self._file.ssp,
            offset=start,
            next_offset=self._offset,
            rows=pa.concat_batches(batches) if batches else None,
            ended=ended,
        )

    def close(self) -> None:
        """Close the file."""
        self._chunks = self._rest = None

    def _open(self) -> Iterator[Chunk]:
        return self._file.format.read(self._file.path, self._file.schema, self._offset - self._file.first)

    def _gather(self, wanted: int) -> list[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = []
        size = 0
        while wanted > 0 and size < _MAXIMUM_BYTES:
            chunk = self._next_chunk()
            if chunk is None:
                break
            if isinstance(chunk, UnreadableRow):
                if batches:
                    self._rest = chunk
                    break
                self._offset += 1
                raise BadRecord(self._file.ssp, self._offset - 1, f"{self._file.path}: {chunk.reason}")
            rows = chunk.slice(0, wanted)
            self._rest = chunk.slice(wanted) if chunk.num_rows > wanted else None
            batches.append(rows)
            self._offset += rows.num_rows
            wanted -= rows.num_rows
            size += rows.nbytes
        return batches

    def _next_chunk(self) -> Chunk | None:
        if self._rest is not None:
            chunk, self._rest = self._rest, None
            return chunk
        file = self._file
        try:
            if self._chunks is None:
                self._chunks = self._open()
            chunk = next(self._chunks, None)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StreamSystemError(
                f"{file.ssp}, offset {self._offset} or later: can't read {file.path}: {error}"
            ) from error
        if chunk is None:
            if file.end is not None:
                raise StreamSystemError(
                    f"{file.ssp}: {file.path} has {self._offset - file.first} records now, it had "
                    f"{file.end - file.first} when it was counted. Put the old file back, or begin a new run"
                )
            self.finished = True
        return chunk
