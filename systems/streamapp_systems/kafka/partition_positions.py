"""The positions of reading in partitions: what was fetched, what was returned, and when one has ended.

Offsets have gaps (markers and aborted records of transactions, compaction), so a partition has ended when its
*position*, known by its records or by the broker's end-of-partition, has reached the end; no record may say so.
"""

from collections import deque
from dataclasses import dataclass, field

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.record_runs import RecordRun
from streamapp_systems.protocols import FetchedBatch, Messages, MessageTuple


@dataclass(slots=True, kw_only=True)
class PartitionPosition:
    """One partition: returned below `offset`, fetched below `position`; in between are the `buffered` records."""

    ssp: Ssp
    offset: int
    end: int | None
    position: int = -1
    paused: bool = False
    buffered: deque[RecordRun] = field(default_factory=deque)
    buffered_rows: int = 0
    buffered_bytes: int = 0

    def __post_init__(self) -> None:
        self.position = self.offset

    @property
    def complete(self) -> bool:
        """Whether all that is to be read has been fetched."""
        return self.end is not None and self.position >= self.end

    def buffer(self, run: RecordRun) -> None:
        """Buffer fetched records, in order; those fetched before, or beyond the end, are dropped."""
        last = run.last_offset
        if run.first_offset < self.position or (self.end is not None and last >= self.end):
            run = run.between(self.position, last + 1 if self.end is None else self.end)
        if len(run):
            self.buffered.append(run)
            self.buffered_rows += len(run)
            self.buffered_bytes += run.value_bytes
        self.advance_to(last + 1)

    def advance_to(self, position: int) -> None:
        """Advance: nothing below this position is to come; a bounded partition never goes beyond its end."""
        bounded = position if self.end is None else min(position, self.end)
        self.position = max(self.position, bounded)

    def drain(self, limit: int) -> FetchedBatch | None:
        """Return up to `limit` buffered records and their next offset; None if there is nothing new."""
        messages = self._take(limit)
        next_offset = self.buffered[0].first_offset if self.buffered else self.position
        ended = self.complete and not self.buffered
        if not len(messages) and not ended and next_offset == self.offset:
            return None
        fetched = FetchedBatch(
            ssp=self.ssp, offset=self.offset, next_offset=next_offset, messages=messages, ended=ended
        )
        self.offset = next_offset
        return fetched

    def _take(self, limit: int) -> Messages:
        """Remove up to so many records from the buffer, and return them as one run."""
        taken: list[RecordRun] = []
        while limit > 0 and self.buffered:
            run = self.buffered.popleft()
            if len(run) > limit:
                self.buffered.appendleft(run.slice(limit, len(run)))
                run = run.slice(0, limit)
            limit -= len(run)
            taken.append(run)
        self.buffered_rows -= sum(map(len, taken))
        self.buffered_bytes -= sum(run.value_bytes for run in taken)
        if not taken:
            return MessageTuple()
        return taken[0].joined(taken[1:]) if len(taken) > 1 else taken[0]
