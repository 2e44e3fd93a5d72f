"""Reads the partitions of a log, and waits for what others commit."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.ssp import Ssp
from streamapp_systems.fair_order import FairOrder, share
from streamapp_systems.log.log_database import connect, explained, first_row, transaction
from streamapp_systems.log.partition_shards import find_shard, next_offset_of
from streamapp_systems.protocols import (
    FetchedBatch,
    KnownEnds,
    Message,
    MessageTuple,
    StreamDescriptor,
    StreamSystemError,
)

MAXIMUM_BYTES = 16 << 20
"""Bytes of values that one poll fetches, about: the last record may go beyond."""

_SHORTEST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


@dataclass(slots=True, kw_only=True)
class _PartitionPosition:
    """The position of position in a partition: the next offset to read."""

    shard: int
    offset: int
    end: int | None


class LogConsumer:
    """Reads assigned partitions of a log. Used by one thread.

    While there is nothing, it asks the file's change counter at growing intervals of 1 to 50 ms. `clock` gives
    seconds; both it and `sleep` are there for tests.
    """

    def __init__(
        self,
        path: Path,
        streams: Sequence[StreamDescriptor],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._path = path
        self._streams = {stream.name: stream for stream in streams}
        self._connection = connect(path)
        self._clock = clock
        self._sleep = sleep
        self._positions: dict[Ssp, _PartitionPosition] = {}
        self._read_at: dict[Ssp, int] = {}
        """The counter of commits at which nothing was left to read of a partition: until it changes, nothing is."""
        self._order = FairOrder(())

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says.

        Raises:
            StreamSystemError: a partition does not exist, or ends before its start.
        """
        with explained(self._path):
            for ssp, start in starts.items():
                shard = find_shard(self._connection, self._streams, ssp)
                if start > shard.next_offset:
                    raise StreamSystemError(
                        f"{ssp}: reading is to go on at offset {start}, but log {self._path} ends at "
                        f"{shard.next_offset}: its last records were lost. Begin a new run"
                    )
                self._positions[ssp] = _PartitionPosition(shard=shard.id, offset=start, end=ends.get(ssp))
                self._read_at.pop(ssp, None)
        self._order = FairOrder(self._positions)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Fetch records, as `Consumer.poll` says, about 16 MB at most.

        Raises:
            StreamSystemError: the file can't be read, or a stream was deleted.
        """
        deadline = self._clock() + timeout
        while waiting := self._order.order(ssps):
            changes = self._changes()
            unread = [ssp for ssp in waiting if self._read_at.get(ssp) != changes]
            fetched = self._fetch(unread, max_rows, changes) if unread else ()
            if fetched or not self._wait_for_change(changes, deadline):
                return fetched
        return ()

    def ask_ends(self, ssps: Collection[Ssp]) -> KnownEnds:
        """Look at once, as `Consumer.ask_ends` says.

        Raises:
            StreamSystemError: the file can't be read, or a stream was deleted.
        """
        with transaction(self._connection, self._path, write=False):
            positions = {ssp: self._positions[ssp] for ssp in ssps}
            ends = {ssp: self._offset_after_all(ssp, position) for ssp, position in positions.items()}
        return KnownEnds({ssp: positions[ssp].offset >= end for ssp, end in ends.items()})

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _changes(self) -> int:
        """Read the counter of commits by others."""
        with explained(self._path):
            ((version,),) = self._connection.execute("PRAGMA data_version")
        return int(version)

    def _wait_for_change(self, changes: int, deadline: float) -> bool:
        pause = _SHORTEST_PAUSE
        while self._changes() == changes:
            left = deadline - self._clock()
            if left <= 0:
                return False
            self._sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _fetch(self, waiting: Sequence[Ssp], max_rows: int, changes: int) -> Sequence[FetchedBatch]:
        fetched: list[FetchedBatch] = []
        rows, size = max_rows, MAXIMUM_BYTES
        with transaction(self._connection, self._path, write=False):
            for ssp in waiting:
                batch = self._fetch_partition(ssp, min(rows, share(max_rows, len(waiting))), size)
                if batch.ended or batch.next_offset > batch.offset:
                    fetched.append(batch)
                else:
                    self._read_at[ssp] = changes
                rows -= len(batch.messages)
                size -= sum(map(_size, batch.messages))
                if rows <= 0 or size <= 0:
                    break
        for batch in fetched:
            self._positions[batch.ssp].offset = batch.next_offset
            self._order.served(batch.ssp)
            if batch.ended:
                self._order.drop(batch.ssp)
        return fetched

    def _fetch_partition(self, ssp: Ssp, limit: int, size: int) -> FetchedBatch:
        position = self._positions[ssp]
        first = first_row(position.shard)
        end = first_row(position.shard + 1) if position.end is None else first + position.end
        messages: list[Message] = []
        for row, timestamp, key, value in self._connection.execute(_RECORDS, (first + position.offset, end, limit)):
            messages.append(Message(offset=row - first, timestamp=timestamp, key=key, value=value))
            size -= _size(messages[-1])
            if size <= 0:
                break
        cut = len(messages) == limit or size <= 0
        next_offset = messages[-1].offset + 1 if cut else self._offset_after_all(ssp, position)
        return FetchedBatch(
            ssp=ssp,
            offset=position.offset,
            next_offset=next_offset,
            messages=MessageTuple(messages),
            ended=position.end is not None and next_offset >= position.end,
        )

    def _offset_after_all(self, ssp: Ssp, position: _PartitionPosition) -> int:
        """Return the next offset once all records have been read: compaction may have removed the last ones."""
        next_offset = next_offset_of(self._connection, position.shard)
        if next_offset is None:
            raise StreamSystemError(f"{ssp}: the stream was deleted from log {self._path} while it was read")
        if position.end is not None:
            next_offset = min(next_offset, position.end)
        return max(next_offset, position.offset)


_RECORDS = "SELECT id, timestamp, key, value FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"


def _size(message: Message) -> int:
    return len(message.key or b"") + len(message.value or b"")
