"""Writing in transactions: what a producer does, and in whose name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.ssp import Ssp


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionOwner:
    """The transactional id a producer writes under: of all producers with one id, only the last opened may commit.

    A system that knows epochs (the log) refuses to open one of an earlier epoch. Kafka does not.
    """

    id: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SentRecords:
    """Records to write to one partition, in their order, as columns of one length."""

    timestamps: npt.NDArray[np.int64] | None
    """None: the time of day, whenever that is."""
    keys: pa.BinaryArray
    """Null: the record has none."""
    values: pa.BinaryArray
    """Null: the record deletes its key."""

    @classmethod
    def of(
        cls, *, timestamps: Sequence[int] | None, keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> "SentRecords":
        """Return records of such sequences; keys and values may take up to 2 GB each."""
        times = None if timestamps is None else np.array(timestamps, np.int64)
        return cls(timestamps=times, keys=pa.array(keys, pa.binary()), values=pa.array(values, pa.binary()))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: slice) -> "SentRecords":
        if place.indices(len(self)) == (0, len(self), 1):
            return self
        times = self.timestamps
        return SentRecords(
            timestamps=None if times is None else times[place], keys=self.keys[place], values=self.values[place]
        )

    def rows(self, now: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Return the timestamp, key and value of each record; those that have no time are of `now`."""
        times = [now] * len(self) if self.timestamps is None else self.timestamps.tolist()
        return zip(times, self.keys.to_pylist(), self.values.to_pylist(), strict=True)


class Producer(Protocol):
    """Appends records to partitions in transactions. Used by one thread.

    Nothing is visible to consumers before `commit`; all of a transaction becomes visible at once, each partition's
    records in the order they were sent.
    """

    def prepare(self) -> None:
        """Do what the next transaction needs before its first record, if none is open; the first record does it else.

        Raises: what `send` raises.
        """
        ...

    def was_away(self) -> bool:
        """Return whether the system may have been away since this was asked last; the first time, since ever.

        It may have forgotten then to end a transaction that it has committed. What this producer writes to the same
        partitions next, and commits, ends it (docs/kafka.md, When a broker forgets how a transaction ended).
        """
        ...

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
