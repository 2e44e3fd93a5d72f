"""How far each partition has been read: what came from the brokers, what was given out, and when it has ended.

Offsets have gaps (markers and aborted records of transactions, compaction), so a partition has ended when its
*position*, told by its records or by the broker's end-of-partition, has reached the end; no record may say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Fetched, Message


@dataclass(slots=True, kw_only=True)
class Reading:
    """One partition: given out below `offset`, received below `position`; in between are the records in `held`."""

    ssp: Ssp
    offset: int
    end: int | None
    position: int = -1
    paused: bool = False
    held: list[Message] = field(default_factory=list)
    held_bytes: int = 0

    def __post_init__(self) -> None:
        self.position = self.offset

    @property
    def complete(self) -> bool:
        """Whether all that was asked for has been received."""
        return self.end is not None and self.position >= self.end

    def take(self, messages: Sequence[Message]) -> None:
        """Keep records that came, in order; those that came before, or lie beyond the end, are dropped."""
        if not messages:
            return
        first, last = messages[0].offset, messages[-1].offset
        if first < self.position or (self.end is not None and last >= self.end):
            messages = [message for message in messages if self._wanted(message.offset)]
        self.held += messages
        self.held_bytes += sum(map(size, messages))
        self.reached(last + 1)

    def _wanted(self, offset: int) -> bool:
        return offset >= self.position and (self.end is None or offset < self.end)

    def reached(self, position: int) -> None:
        """Note that there is nothing below this position any more; a bounded partition never goes beyond its end."""
        bounded = position if self.end is None else min(position, self.end)
        self.position = max(self.position, bounded)

    def give(self, limit: int) -> Fetched | None:
        """Give out up to `limit` records and how far that goes; None if there is no news."""
        messages = tuple(self.held[:limit])
        del self.held[: len(messages)]
        self.held_bytes = self.held_bytes - sum(map(size, messages)) if self.held else 0
        next_offset = self.held[0].offset if self.held else self.position
        ended = self.complete and not self.held
        if not messages and not ended and next_offset == self.offset:
            return None
        fetched = Fetched(ssp=self.ssp, offset=self.offset, next_offset=next_offset, messages=messages, ended=ended)
        self.offset = next_offset
        return fetched


def size(message: Message) -> int:
    """Count the bytes of a record's key and value."""
    return len(message.key or b"") + len(message.value or b"")
