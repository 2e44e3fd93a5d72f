"""Reads files as bounded partitions."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from streamapp_core.ssp import Ssp
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.fair_order import FairOrder, share
from streamapp_systems.file.file_cursor import FileCursor, PartitionFile
from streamapp_systems.file.partition_files import file_format, partition_files
from streamapp_systems.protocols import FetchedBatch, KnownEnds, StreamDescriptor, StreamSystemError

MAXIMUM_OPEN_FILES = 32
"""Files of one consumer that are read side by side; each costs a few megabytes. Others wait for one to end."""


class FileConsumer:
    """Reads the files of streams as rows. Files are read as they are: rows appended later are not waited for.

    A bad record loses nothing else: the poll that raises it returns no batches.
    """

    def __init__(self, root: Path, streams: Sequence[StreamDescriptor]) -> None:
        self._root = root
        self._streams = {stream.name: stream for stream in streams}
        self._cursors: dict[Ssp, FileCursor] = {}
        self._order = FairOrder(())
        self._failure: StreamSystemError | None = None

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says.

        Raises:
            StreamSystemError: a stream has no schema, or not this partition (any more).
        """
        files = {name: partition_files(self._root, self._stream(name)) for name in {ssp.stream for ssp in starts}}
        for ssp, start in starts.items():
            stream = self._stream(ssp.stream)
            if stream.schema is None:
                raise StreamSystemError(
                    f"stream {stream.name}: rows of files are read by a schema; the stream needs one"
                )
            if ssp.partition >= len(files[ssp.stream]):
                raise StreamSystemError(
                    f"{ssp}: there are {len(files[ssp.stream])} files at {self._root / stream.address}. "
                    "Put the missing ones back, or begin a new run"
                )
            file = PartitionFile(
                ssp=ssp,
                path=files[ssp.stream][ssp.partition],
                format=file_format(stream),
                schema=arrow_schema(stream.schema),
                end=ends.get(ssp),
            )
            self._cursors[ssp] = FileCursor(file, start)
        self._order = FairOrder(self._cursors)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:  # noqa: ARG002 - files never wait
        """Fetch rows, as `Consumer.poll` says, at once."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        fetched: list[FetchedBatch] = []
        waiting = self._waiting(ssps)
        for ssp in waiting:
            limit = min(share(max_rows, len(waiting)), max_rows - _rows(fetched))
            if limit <= 0:
                break
            try:
                batch = self._take(ssp, limit)
            except StreamSystemError as failure:
                if not fetched:
                    raise
                self._failure = failure
                break
            if batch.rows is not None or batch.ended:
                fetched.append(batch)
        return fetched

    def ask_ends(self, ssps: Collection[Ssp]) -> KnownEnds:
        """Return that none is read to its end, as `Consumer.ask_ends` says: a file of which all is read has ended."""
        return KnownEnds(dict.fromkeys(ssps, False))

    def close(self) -> None:
        """Close all files."""
        for cursor in self._cursors.values():
            cursor.close()

    def _waiting(self, ssps: Collection[Ssp]) -> list[Ssp]:
        """Choose the partitions of this poll: the open ones, and others as far as they may be opened."""
        order = self._order.order(ssps)
        chosen = frozenset(sorted(order, key=lambda ssp: not self._cursors[ssp].opened)[:MAXIMUM_OPEN_FILES])
        return [ssp for ssp in order if ssp in chosen]

    def _take(self, ssp: Ssp, limit: int) -> FetchedBatch:
        cursor = self._cursors[ssp]
        self._order.served(ssp)
        batch = cursor.take(limit)
        if cursor.finished:
            self._order.drop(ssp)
        return batch

    def _stream(self, name: str) -> StreamDescriptor:
        if name not in self._streams:
            raise StreamSystemError(f"stream {name} is none of this consumer's: {', '.join(sorted(self._streams))}")
        return self._streams[name]


def _rows(fetched: Sequence[FetchedBatch]) -> int:
    return sum(batch.next_offset - batch.offset for batch in fetched)
