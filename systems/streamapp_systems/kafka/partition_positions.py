"""The positions of reading in partitions: what was fetched, what was returned, and when one has ended.

Offsets have gaps (markers and aborted records of transactions, compaction), so a partition has ended when its
*position*, known by its records or by the broker's end-of-partition, has reached the end; no record may say so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from confluent_kafka import Message as Record

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import FetchedBatch, Headers, Message


class RecordMessages:
    """The client's records as messages; nothing is copied out of them before it is used."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = records

    @property
    def values(self) -> list[bytes | None]:
        """See `Messages.values`."""
        return list(map(Record.value, self._records))

    @property
    def keys(self) -> list[bytes | None]:
        """See `Messages.keys`."""
        return list(map(Record.key, self._records))

    @property
    def timestamps(self) -> list[int]:
        """See `Messages.timestamps`."""
        return [time for _, time in map(Record.timestamp, self._records)]

    def headers(self, at: int) -> Headers | None:
        """See `Messages.headers`."""
        try:
            found = self._records[at].headers()
        except SystemError:  # so the client tells of a name that is no UTF-8
            return None
        return tuple(cast("list[tuple[str, bytes | None]]", found or []))

    def between(self, begin: int, end: int) -> "RecordMessages":
        """See `Messages.between`."""
        return RecordMessages([record for record in self._records if begin <= _offset(record) < end])

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Message]:
        return map(_message, self._records)

    def __getitem__(self, at: int) -> Message:
        return _message(self._records[at])


def _message(record: Record) -> Message:
    return Message(_offset(record), record.timestamp()[1], record.key(), record.value())


@dataclass(slots=True, kw_only=True)
class PartitionPosition:
    """One partition: returned below `offset`, fetched below `position`; in between are the `buffered` records."""

    ssp: Ssp
    offset: int
    end: int | None
    position: int = -1
    paused: bool = False
    buffered: list[Record] = field(default_factory=list)
    buffered_bytes: int = 0

    def __post_init__(self) -> None:
        self.position = self.offset

    @property
    def complete(self) -> bool:
        """Whether all that is to be read has been fetched."""
        return self.end is not None and self.position >= self.end

    def buffer(self, records: Sequence[Record]) -> None:
        """Buffer fetched records, in order; those fetched before, or beyond the end, are dropped."""
        if not records:
            return
        first, last = _offset(records[0]), _offset(records[-1])
        if first < self.position or (self.end is not None and last >= self.end):
            records = [record for record in records if self._wanted(_offset(record))]
        self.buffered += records
        self.buffered_bytes += size(records)
        self.advance_to(last + 1)

    def _wanted(self, offset: int) -> bool:
        return offset >= self.position and (self.end is None or offset < self.end)

    def advance_to(self, position: int) -> None:
        """Advance: nothing below this position is to come; a bounded partition never goes beyond its end."""
        bounded = position if self.end is None else min(position, self.end)
        self.position = max(self.position, bounded)

    def drain(self, limit: int) -> FetchedBatch | None:
        """Return up to `limit` buffered records and their next offset; None if there is nothing new."""
        records = self.buffered[:limit]
        self.buffered = self.buffered[limit:]
        self.buffered_bytes = self.buffered_bytes - size(records) if self.buffered else 0
        next_offset = _offset(self.buffered[0]) if self.buffered else self.position
        ended = self.complete and not self.buffered
        if not records and not ended and next_offset == self.offset:
            return None
        messages = RecordMessages(records)
        fetched = FetchedBatch(
            ssp=self.ssp, offset=self.offset, next_offset=next_offset, messages=messages, ended=ended
        )
        self.offset = next_offset
        return fetched


def _offset(record: Record) -> int:
    offset = record.offset()
    assert offset is not None, "the record came from a broker"
    return offset


def size(records: Sequence[Record]) -> int:
    """Count the bytes of the records' values, which is what their length is; keys are small beside them."""
    return sum(map(len, records))
