"""Reads streams whose files become more, and looks for new files in a thread of its own; and versions, as a whole."""

import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.fair_order import FairOrder, share
from streamapp_systems.folder.admin import open_journal
from streamapp_systems.folder.changed_files import CHANGE_FIELD
from streamapp_systems.folder.file_chain import FileChain
from streamapp_systems.folder.file_journal import FileJournal, JournalFile, SeenFile
from streamapp_systems.folder.growing_files import GrowingFiles, OpenStreams, open_version, resolve_version
from streamapp_systems.folder.look_thread import LookThread
from streamapp_systems.protocols import FetchedBatch, StreamDescriptor, StreamSystemError, WholeVersion

MAXIMUM_OPEN_FILES = 32
"""Files of one consumer that are read side by side; each costs a few megabytes. Others wait for one to end."""


class FolderConsumer:
    """Reads partitions as rows, and waits for new files; those that are read whole end. Used by one thread.

    A bad record loses nothing else: the poll that raises it returns no batches.
    """

    def __init__(
        self,
        open_stream: OpenStreams,
        streams: Sequence[StreamDescriptor],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_stream = open_stream
        self._streams = {stream.name: stream for stream in streams}
        self._clock = clock
        self._journals: list[FileJournal] = []
        self._chains: dict[Ssp, FileChain] = {}
        self._ends: dict[Ssp, int] = {}
        """The ends of what is read whole."""
        self._unread: set[Ssp] = set()
        """The partitions that may have rows to read: all others wait for the next look."""
        self._order = FairOrder(())
        self._looks = LookThread({}, clock=clock)
        self._failure: StreamSystemError | None = None

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says.

        Raises:
            VersionGone: a version of which there is more to read is gone.
            StreamSystemError: a stream has no schema or no journal, or not this partition, or ends before its start.
        """
        endless = next((ssp for ssp in ends if self._streams[ssp.stream].whole is None), None)
        if endless is not None:
            raise StreamSystemError(f"{endless}: a folder that grows has no end")
        self._ends = dict(ends)
        assigned: dict[str, dict[int, int]] = {}
        for ssp, start in starts.items():
            assigned.setdefault(ssp.stream, {})[ssp.partition] = start
        looked: dict[str, tuple[GrowingFiles, frozenset[int]]] = {}
        for name, positions in assigned.items():
            stream = self._streams[name]
            if stream.whole is not None:
                self._assign_version(stream, stream.whole, positions)
            else:
                looked[name] = (self._open_stream(stream), frozenset(positions))
                self._assign_stream(stream, positions)
        self._order = FairOrder(self._chains)
        self._unread = set(self._chains)
        self._looks = LookThread(looked, clock=self._clock)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Fetch rows, as `Consumer.poll` says.

        Raises:
            BadRecord, StreamSystemError: as `Consumer.poll` says; also if a look for new files failed.
        """
        deadline = self._clock() + timeout
        while True:
            self._notice()
            fetched = self._fetch(ssps, max_rows)
            left = deadline - self._clock()
            if fetched or left <= 0 or self._ends.keys() >= set(ssps):
                return fetched
            self._looks.wait(left)

    def ask_ends(self, ssps: Collection[Ssp]) -> "FolderEnds":
        """Ask for a look, as `Consumer.ask_ends` says."""
        return FolderEnds(self, tuple(ssps), self._looks.request())

    def close(self) -> None:
        """Close all files and journals, and end the thread."""
        self._looks.close()
        for chain in self._chains.values():
            chain.close()
        for journal in self._journals:
            journal.close()

    def answer(self, ssps: Collection[Ssp], number: int) -> Mapping[Ssp, bool] | None:
        """Return whether partitions are read to their ends as the look of this number found them, or a later one.

        Raises:
            StreamSystemError: the look failed.
        """
        self._notice()
        if self._looks.done < number:
            return None
        return {ssp: not self._behind(ssp) and not self._looks.incomplete(ssp.stream, ssp.partition) for ssp in ssps}

    def _behind(self, ssp: Ssp) -> bool:
        return self._chains[ssp].offset < self._looks.end(ssp.stream, ssp.partition)

    def _assign_stream(self, stream: StreamDescriptor, positions: Mapping[int, int]) -> None:
        schema, files = _row_schema(stream), self._open_stream(stream)
        journal = open_journal(files)
        self._journals.append(journal)
        ends = journal.ends(positions)
        for partition, offset in positions.items():
            ssp = Ssp(stream.system, stream.name, partition)
            if partition >= journal.partitions:
                raise StreamSystemError(f"{ssp}: the stream has {journal.partitions} partitions")
            if offset > ends[partition]:
                raise StreamSystemError(
                    f"{ssp}: reading is to go on at offset {offset}, but journal {files.journal_path} ends at "
                    f"{ends[partition]}: it is not the one that was read. Put it back, or begin a new run"
                )
            self._chains[ssp] = FileChain(
                ssp,
                offset=offset,
                find=partial(journal.find, partition),
                path=files.path,
                file_format=partial(files.format, journal),
                schema=schema.append(CHANGE_FIELD) if stream.change_key else schema,
            )

    def _assign_version(self, stream: StreamDescriptor, whole: WholeVersion, positions: Mapping[int, int]) -> None:
        schema, files = _row_schema(stream), open_version(self._open_stream, stream)
        unread = [p for p, start in positions.items() if start < self._ends[Ssp(stream.system, stream.name, p)]]
        listed = files.version_files(resolve_version(files, whole), unread) if unread else {}
        for partition, offset in positions.items():
            ssp = Ssp(stream.system, stream.name, partition)
            self._chains[ssp] = FileChain(
                ssp,
                offset=offset,
                find=partial(_find, _with_ends(listed.get(partition, ()))),
                path=files.path,
                file_format=partial(files.format, None),
                schema=schema,
                version=whole.version,
            )

    def _notice(self) -> None:
        """Take what looks have found since, and have the next one made when it is due."""
        if self._looks.step():
            self._unread.update(ssp for ssp in self._chains if self._behind(ssp))

    def _fetch(self, ssps: Collection[Ssp], max_rows: int) -> Sequence[FetchedBatch]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        order = [ssp for ssp in self._order.order(ssps) if ssp in self._unread]
        chosen = frozenset(sorted(order, key=lambda ssp: not self._chains[ssp].opened)[:MAXIMUM_OPEN_FILES])
        waiting = [ssp for ssp in order if ssp in chosen]
        fetched: list[FetchedBatch] = []
        left = max_rows
        for ssp in waiting:
            limit = min(share(max_rows, len(waiting)), left)
            if limit <= 0:
                break
            self._order.served(ssp)
            try:
                batch = self._chains[ssp].take(limit)
            except StreamSystemError as failure:
                if not fetched:
                    raise
                self._failure = failure
                break
            if ssp in self._ends and batch.next_offset >= self._ends[ssp]:
                batch = replace(batch, ended=True)
            if batch.rows is None or batch.ended:
                self._unread.discard(ssp)
            if batch.rows is None and not batch.ended:
                continue
            left -= batch.next_offset - batch.offset
            fetched.append(batch)
        return fetched


def _row_schema(stream: StreamDescriptor) -> pa.Schema:
    if stream.schema is None:
        raise StreamSystemError(f"stream {stream.name}: rows of files are read by a schema; the stream needs one")
    return arrow_schema(stream.schema)


def _with_ends(files: Sequence[SeenFile]) -> list[JournalFile]:
    ends = accumulate(file.records for file in files)
    return [JournalFile(file=file, end=end) for file, end in zip(files, ends, strict=True)]


def _find(files: Sequence[JournalFile], offset: int) -> JournalFile | None:
    """Return the file that has the record of an offset, as `FileJournal.find` does."""
    number = bisect_right(files, offset, key=lambda file: file.end)
    return files[number] if number < len(files) else None


@dataclass(frozen=True, slots=True)
class FolderEnds:
    """The answer to the question whether partitions have been read to their ends: that of a look."""

    consumer: FolderConsumer
    ssps: tuple[Ssp, ...]
    number: int

    def poll(self) -> Mapping[Ssp, bool] | None:
        """See `EndsAnswer.poll`."""
        return self.consumer.answer(self.ssps, self.number)
