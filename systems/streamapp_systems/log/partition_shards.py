"""Partitions as they are stored: one shard each."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A partition's identity in the file, and the offset of the record it gets next."""

    id: int
    next_offset: int


def stream_shards(connection: sqlite3.Connection, address: str) -> Sequence[Shard]:
    """List the shards of the stream at this address, by partition; none if there is no such stream."""
    rows = connection.execute(
        "SELECT shards.id, next_offset FROM shards JOIN streams ON streams.id = stream "
        "WHERE address = ? ORDER BY partition",
        (address,),
    )
    return [Shard(id=shard, next_offset=next_offset) for shard, next_offset in rows]


def find_shard(connection: sqlite3.Connection, streams: Mapping[str, StreamDescriptor], ssp: Ssp) -> Shard:
    """Find a partition's shard; `streams` holds the streams by name.

    Raises:
        StreamSystemError: the stream is not among them, or the log does not have the partition.
    """
    stream = streams.get(ssp.stream)
    if stream is None:
        known = ", ".join(sorted(streams)) or "none"
        raise StreamSystemError(f"{ssp}: this stream was not given when the log was opened; there were {known}")
    row = connection.execute(
        "SELECT shards.id, next_offset FROM shards JOIN streams ON streams.id = stream "
        "WHERE address = ? AND partition = ?",
        (stream.address, ssp.partition),
    ).fetchone()
    if row is None:
        raise StreamSystemError(
            f"{ssp}: the log has no partition {ssp.partition} of {stream.address}. Create the stream first; "
            "if it was there before, it was deleted"
        )
    return Shard(id=row[0], next_offset=row[1])


def next_offset_of(connection: sqlite3.Connection, shard: int) -> int | None:
    """Read the next offset of a shard; None if it was deleted."""
    row = connection.execute("SELECT next_offset FROM shards WHERE id = ?", (shard,)).fetchone()
    return None if row is None else int(row[0])
