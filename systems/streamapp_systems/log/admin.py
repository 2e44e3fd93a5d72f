"""Metadata of a log, and its maintenance: creation, growth, compaction and deletion of streams."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from streamapp_core.ssp import Ssp
from streamapp_systems.log.log_database import connect, explained, first_row, transaction
from streamapp_systems.log.partition_shards import stream_shards
from streamapp_systems.log.producer_fences import take_over
from streamapp_systems.protocols import RecordLimits, StreamDescriptor, StreamSystemError, TransactionOwner

_DELETIONS = 10_000
"""Records that compaction deletes in one transaction: others may write in between."""

_PURGED = 1_000
"""Records that are purged in one transaction; those of intermediate streams are batches of rows."""

_SUPERSEDED = """
    SELECT id FROM (
        SELECT id, timestamp, value IS NULL AS tombstone, lead(id) OVER (PARTITION BY key ORDER BY id) AS later
        FROM records WHERE id >= :first AND id < :end AND key IS NOT NULL
    )
    WHERE later IS NOT NULL OR (tombstone AND timestamp < :tombstones_before)
"""


_COUNT = "SELECT count(*) FROM records WHERE id >= :first AND id < :end"
_FIRST = "SELECT min(id) FROM records WHERE id >= ? AND id < ?"
_NOT_OLDER = "SELECT min(id) FROM records WHERE id >= ? AND id < ? AND timestamp >= ?"
_PURGE = "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)"


class LogAdmin:
    """The admin of a log: its streams and their maintenance. Used by one thread."""

    def __init__(self, path: Path) -> None:
        """Open the log; one that does not exist is created by the first write."""
        self._path = path
        self._opened = connect(path) if path.exists() else None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = connect(self._path)
        return self._opened

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count partitions, as `Admin.partitions` says."""
        if self._opened is None:
            return {}
        with explained(self._path):
            counts = {stream.name: len(stream_shards(self._connection, stream.address)) for stream in streams}
        return {name: count for name, count in counts.items() if count}

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Create missing streams, as `Admin.create` says: all or none."""
        with transaction(self._connection, self._path, write=True):
            for stream, count in counts.items():
                found = len(stream_shards(self._connection, stream.address))
                if found not in {0, count}:
                    raise StreamSystemError(
                        f"stream {stream.name}: {stream.address} has {found} partitions in log {self._path}, "
                        f"not {count}. Correct the number, or delete the stream"
                    )
                if not found:
                    self._connection.execute("INSERT INTO streams (address) VALUES (?)", (stream.address,))
                    self._add_shards(stream, range(count))

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Add partitions to a stream, as `TransactionalAdmin.expand` says."""
        with transaction(self._connection, self._path, write=True):
            found = len(stream_shards(self._connection, stream.address))
            if not 0 < found <= count:
                raise StreamSystemError(
                    f"stream {stream.name}: {stream.address} has {found} partitions in log {self._path} and can't be "
                    f"expanded to {count}"
                )
            self._add_shards(stream, range(found, count))

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return 0: reading skips what was deleted."""
        return dict.fromkeys(self.end_offsets(streams), 0)

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return next offsets, as `Admin.end_offsets` says, at one moment for all partitions."""
        with transaction(self._connection, self._path, write=False):
            return {
                Ssp(stream.system, stream.name, partition): shard.next_offset
                for stream in streams
                for partition, shard in enumerate(stream_shards(self._connection, stream.address))
            }

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends: a transaction that is not committed has written nothing."""
        return self.end_offsets(streams)

    def offsets_for_times(self, streams: Sequence[StreamDescriptor], milliseconds: int) -> Mapping[Ssp, int]:
        """Return offsets by the records' timestamps, as `TransactionalAdmin.offsets_for_times` says."""
        found: dict[Ssp, int] = {}
        with transaction(self._connection, self._path, write=False):
            for stream in streams:
                for partition, shard in enumerate(stream_shards(self._connection, stream.address)):
                    first, behind = first_row(shard.id), first_row(shard.id + 1)
                    ((row,),) = self._connection.execute(_NOT_OLDER, (first, behind, milliseconds))
                    ssp = Ssp(stream.system, stream.name, partition)
                    found[ssp] = shard.next_offset if row is None else row - first
        return found

    def record_limits(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, RecordLimits]:  # noqa: ARG002
        """Return nothing: a log takes every record."""
        return {}

    def count_records(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Return the offsets from the first record of each partition on, as `TransactionalAdmin.count_records` says."""
        counts = {stream.name: 0 for stream in streams}
        with transaction(self._connection, self._path, write=False):
            for stream in streams:
                for shard in stream_shards(self._connection, stream.address):
                    ((first,),) = self._connection.execute(_FIRST, (first_row(shard.id), first_row(shard.id + 1)))
                    if first is not None:
                        counts[stream.name] += shard.next_offset - (first - first_row(shard.id))
        return counts

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int = 0) -> int:
        """Delete superseded records, as `TransactionalAdmin.compact` says; offsets stay.

        Records without a key stay. A tombstone that is the last of its key stays too, so that a reader that has the
        key from earlier learns of its deletion, unless its timestamp (milliseconds) is below `tombstones_before`.
        Safe to repeat and to interrupt.
        """
        left = 0
        for shard in self._shard_ids(stream):
            rows = {"first": first_row(shard), "end": first_row(shard + 1), "tombstones_before": tombstones_before}
            with explained(self._path):
                ((count,),) = self._connection.execute(_COUNT, rows)
                superseded = self._connection.execute(_SUPERSEDED, rows).fetchall()
            left += count - len(superseded)
            for slice_ in _slices(superseded):
                with transaction(self._connection, self._path, write=True):
                    self._connection.executemany("DELETE FROM records WHERE id = ?", slice_)
        return left

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Return streams' numbers, which are never used again, as `TransactionalAdmin.identities` says."""
        with explained(self._path):
            numbers = dict(self._connection.execute("SELECT address, id FROM streams").fetchall())
        return {stream.name: str(numbers.get(stream.address, "")) for stream in streams}

    def delete_records(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete consumed records, as `TransactionalAdmin.delete_records` says; later ones reuse the space."""
        for stream in streams:
            for partition, shard in enumerate(self._shard_ids(stream)):
                end = first_row(shard) + below.get(Ssp(stream.system, stream.name, partition), 0)
                deleted = _PURGED
                while deleted == _PURGED:
                    with transaction(self._connection, self._path, write=True):
                        deleted = self._connection.execute(_PURGE, (first_row(shard), end, _PURGED)).rowcount

    def publish_group_offsets(
        self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
    ) -> None:
        """Do nothing: a log has no consumer groups."""

    def delete_group(self, group: str) -> None:
        """Do nothing: a log has no consumer groups."""

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete these streams with all they hold, those that exist; later records reuse the space."""
        with transaction(self._connection, self._path, write=True):
            for stream in streams:
                for shard in self._shard_ids(stream):
                    self._connection.execute(
                        "DELETE FROM records WHERE id >= ? AND id < ?", (first_row(shard), first_row(shard + 1))
                    )
                    self._connection.execute("DELETE FROM shards WHERE id = ?", (shard,))
                self._connection.execute("DELETE FROM streams WHERE address = ?", (stream.address,))

    def fence(self, owners: Sequence[TransactionOwner]) -> None:
        """Fence earlier producers, as `TransactionalAdmin.fence` says: all ids or none."""
        with transaction(self._connection, self._path, write=True):
            for owner in owners:
                take_over(self._connection, owner)

    def close(self) -> None:
        """Release the file."""
        if self._opened is not None:
            self._opened.close()

    def _shard_ids(self, stream: StreamDescriptor) -> list[int]:
        with explained(self._path):
            return [shard.id for shard in stream_shards(self._connection, stream.address)]

    def _add_shards(self, stream: StreamDescriptor, partitions: range) -> None:
        self._connection.executemany(
            "INSERT INTO shards (stream, partition) SELECT id, ? FROM streams WHERE address = ?",
            [(partition, stream.address) for partition in partitions],
        )


def _slices(rows: list[tuple[int]]) -> Iterator[list[tuple[int]]]:
    for start in range(0, len(rows), _DELETIONS):
        yield rows[start : start + _DELETIONS]
