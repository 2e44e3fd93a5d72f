"""What every system can do, whatever lies behind it: a folder of files, an embedded log, a broker.

The runtime knows systems by these protocols only. Offsets are always the next one to read or to be written; an end is
exclusive. Event times and timestamps are integer milliseconds since 1970 UTC.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pyarrow as pa

from streamapp_core.schema import Schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat
from streamapp_core.ssp import Ssp


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDescriptor:
    """What a system must know of a stream: `name` as in the spec, `address` as in the system (path, topic).

    Of a `keyed` stream only the last record of each key counts: a system that makes it may compact it.
    """

    name: str
    system: str
    address: str
    format: StreamFormat
    schema: Schema | None = None
    csv: CsvOptions = field(default_factory=CsvOptions)
    keyed: bool = False


class Message(NamedTuple):
    """One record of a stream whose values are bytes; without a value it deletes its key (a tombstone).

    A tuple, since there is one per record: it takes a fifth of the time of a frozen dataclass to make.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Messages(Protocol):
    """The messages of a part, in order; also by column, since an object per message costs more than reading it."""

    @property
    def values(self) -> list[bytes | None]:
        """The values alone."""
        ...

    @property
    def timestamps(self) -> list[int]:
        """The timestamps alone."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Message]: ...

    def __getitem__(self, at: int, /) -> Message: ...


class MessageTuple(tuple[Message, ...]):
    """Messages that lie there as such."""

    __slots__ = ()

    @property
    def values(self) -> list[bytes | None]:
        """See `Messages.values`."""
        return [message.value for message in self]

    @property
    def timestamps(self) -> list[int]:
        """See `Messages.timestamps`."""
        return [message.timestamp for message in self]


_NONE = MessageTuple()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What one poll brought of one partition, in order.

    A system that stores rows fills `rows` (one row an offset, columns as in the stream's schema); one that stores
    bytes fills `messages`. `next_offset` is where reading goes on. `ended`: a bounded partition has been read up to
    its end; this is said once, perhaps with nothing else.
    """

    ssp: Ssp
    offset: int
    next_offset: int
    rows: pa.RecordBatch | None = None
    messages: Messages = _NONE
    ended: bool = False


class StreamSystemError(Exception):
    """A system can't do what was asked; the message says which stream or partition, why, and what to do."""


class BadRecord(StreamSystemError):  # noqa: N818 - the error is the record's
    """One record can't be read; `ssp` and `offset` say which. The consumer that raised this goes on after it."""

    def __init__(self, ssp: Ssp, offset: int, reason: str) -> None:
        super().__init__(ssp, offset, reason)
        self.ssp = ssp
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.ssp}, offset {self.offset}: {self.reason}"


class Fenced(StreamSystemError):  # noqa: N818 - what happened to the producer
    """A newer owner of the transactional id has taken over: nothing of ours is written any more. Stop."""


class Unavailable(StreamSystemError):  # noqa: N818 - the state of the system
    """The system does not answer at the moment, or lost what was under way: try again, or look after it."""


class CommitUnknown(StreamSystemError):  # noqa: N818 - what is known of the commit
    """Nobody answered whether the transaction was committed. Commit again, or exit; it can't be aborted any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactional:
    """Who writes: of the producers with one id, only the last one that was opened may commit.

    A system that knows epochs (the log) refuses to open one of an earlier epoch. Kafka does not.
    """

    id: str
    epoch: int


class Admin(Protocol):
    """Metadata of a system: which streams there are, how many partitions and how much they hold."""

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count the partitions of these streams; a stream that does not exist is absent from the answer."""
        ...

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Make these streams with these partition counts where they are missing.

        Raises:
            StreamSystemError: a stream exists with another count.
        """
        ...

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell, per partition of these streams, the offset below which nothing can be read any more."""
        ...

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell, per partition of these streams, the offset after the last record there is now."""
        ...

    def close(self) -> None:
        """Release every handle; the admin is not used again."""
        ...


class TransactionalAdmin(Admin, Protocol):
    """What systems with transactions can do besides."""

    def fence(self, owners: Sequence[Transactional]) -> None:
        """Let no producer that was opened before commit under these ids, and wait until all they did is visible.

        Raises:
            Fenced: an id has a later epoch already (log).
        """
        ...

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Give a stream so many partitions, unless it has them already; what it holds stays where it is.

        Raises:
            StreamSystemError: it does not exist, or has more partitions.
        """
        ...

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell ends as `end_offsets` does, but count records that are not committed and that nobody can read yet."""
        ...

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete these streams with all they hold, those that exist."""
        ...

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Tell each stream, by name, from others that were, or will be, at its address; empty if there is none."""
        ...

    def purge(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete the records of these streams' partitions below these offsets; offsets stay. Safe to repeat."""
        ...

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int) -> int:
        """Delete what later records of a keyed stream supersede, and deletions older than a time (milliseconds).

        Returns how many records are left; a system that compacts by itself does nothing and returns 0.
        """
        ...

    def mirror(self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]) -> None:
        """Show how far these streams have been read where people's tools look: under the name of a consumer group.

        Nothing reads it back. A system without consumer groups does nothing.
        """
        ...

    def forget(self, group: str) -> None:
        """Remove what `mirror` showed under this name, if anything."""
        ...


class Consumer(Protocol):
    """Reads assigned partitions. Used by one thread; several consumers may read the same partition."""

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read exactly these partitions from these offsets on; those in `ends` are bounded.

        Called once, before the first poll.
        """
        ...

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[Fetched]:
        """Bring what there is of these partitions, about `max_rows` rows in all, fair between partitions.

        Waits up to `timeout` seconds when there is nothing yet, and not at all when nothing can come any more.
        Partitions that ended stay silent.

        Raises:
            BadRecord: a record can't be read. All records before it have been given out; the next poll goes on
                with the one after it.
            StreamSystemError: a partition can't be read; the message says which and why.
        """
        ...

    def close(self) -> None:
        """Release every handle; the consumer is not used again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRecords:
    """Records to write to one partition, in their order, as columns of one length."""

    timestamps: Sequence[int] | None
    """None: the time of day, whenever that is."""
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: slice) -> "SentRecords":
        times = self.timestamps
        return SentRecords(
            timestamps=None if times is None else times[place], keys=self.keys[place], values=self.values[place]
        )


class Producer(Protocol):
    """Appends records to partitions in transactions. Used by one thread.

    Nothing is visible to consumers before `commit`; all of a transaction becomes visible at once, each partition's
    records in the order they were sent.
    """

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """Add one record to the open transaction (opening one if there is none)."""
        ...

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """Add many records to one partition: as `send` does, in less time for each."""
        ...

    def commit(self) -> Mapping[Ssp, int]:
        """Make all that was sent visible, durably; without an open transaction nothing happens.

        Returns the next offset of each partition written. After a StreamSystemError nothing is visible and the
        transaction is still open: commit again, or abort.

        Raises:
            Fenced: a later owner has taken over.
            CommitUnknown: perhaps it is visible: commit again, or exit.
            StreamSystemError: it can't be committed.
        """
        ...

    def abort(self) -> None:
        """Drop the open transaction."""
        ...

    def close(self) -> None:
        """Abort what is open and release every handle."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPart:
    """A finished part of a file output that waits for its publication: paths relative to the system's folder."""

    stream: str
    staged: str
    final: str


class FileOutput(Protocol):
    """Writes rows as parts of file outputs: staged first, visible only when published."""

    def write(self, stream: str, rows: pa.Table) -> None:
        """Add rows to the part of this stream that is being written."""
        ...

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open parts, durably, under names no reader takes for results."""
        ...

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Give staged parts their final names; parts that already have them are left alone."""
        ...

    def close(self) -> None:
        """Drop what was not staged and release every handle."""
        ...
