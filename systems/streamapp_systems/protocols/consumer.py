"""Reading: what a consumer does, and the batches it fetches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols.record_messages import Messages, MessageTuple

_NONE = MessageTuple()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedBatch:
    """The records that one poll fetched of one partition, in order.

    A system that stores rows fills `rows` (one row an offset, columns as in the stream's schema); one that stores
    bytes fills `messages`. Rows of a stream with a `change_key` have `CHANGE_COLUMN`, too, which is null where an
    offset has no change. Reading continues at `next_offset`. `ended`: a bounded partition has been read up to its
    end; this is reported once, perhaps with nothing else.
    """

    ssp: Ssp
    offset: int
    next_offset: int
    rows: pa.RecordBatch | None = None
    messages: Messages = _NONE
    ended: bool = False


class EndsAnswer(Protocol):
    """The answer to the question whether partitions have been read to their ends."""

    def poll(self) -> Mapping[Ssp, bool] | None:
        """Return whether each partition has been read to the end that it had when it was asked for, or later.

        All that polls have returned has been read. Records that are written and not committed count, too: they are
        still to come. A partition that is absent was not answered for. None: not all have answered yet.
        """
        ...


@dataclass(frozen=True, slots=True)
class KnownEnds:
    """The answer of a system that knows it at once."""

    read: Mapping[Ssp, bool]

    def poll(self) -> Mapping[Ssp, bool]:
        """See `EndsAnswer.poll`."""
        return self.read


class Consumer(Protocol):
    """Reads assigned partitions. Used by one thread; several consumers may read the same partition."""

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read exactly these partitions from these offsets on; those in `ends` are bounded.

        Called once, before the first poll.
        """
        ...

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Fetch what there is of these partitions, about `max_rows` rows in all, fair between partitions.

        Waits up to `timeout` seconds when there is nothing yet, and not at all when nothing can come any more.
        A partition that has ended brings nothing any more.

        Raises:
            BadRecord: a record can't be read. All records before it have been returned; the next poll goes on with
                the one after it.
            StreamSystemError: a partition can't be read; the message says which and why.
        """
        ...

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """Ask whether these assigned partitions, none of which has ended, have been read to their ends, and return.

        The answer comes later, perhaps: a system that is away holds up nobody.
        """
        ...

    def close(self) -> None:
        """Release every handle; the consumer is not used again."""
        ...
