"""The changelog of a run: a keyed stream with one partition per task."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ProcessorLost
from streamapp_systems.protocols import Consumer, Messages, StreamDescriptor, TransactionalAdmin

_RECORDS = 20_000
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 0.05


class ChangelogReader(Protocol):
    """Reads the changelog of one task, to which nothing is written meanwhile."""

    def identity(self) -> str:
        """Return what distinguishes it from other streams that had its name."""
        ...

    def end(self) -> int:
        """Return the offset after its last committed record."""
        ...

    def read(self, start: int, end: int) -> Iterator[Messages]:
        """Yield its records from one offset to another, some at a time, without those that compaction removed."""
        ...


class ChangelogPartitionReader:
    """Reads one partition of a changelog; see `ChangelogReader`."""

    def __init__(self, admin: TransactionalAdmin, consumer: Consumer, stream: StreamDescriptor, partition: int) -> None:
        """Take a consumer of the stream that is used for nothing else."""
        self._admin = admin
        self._consumer = consumer
        self._stream = stream
        self.ssp = Ssp(stream.system, stream.name, partition)

    def wait_until_readable(self, clock: Callable[[], float], sleep: Callable[[float], None], timeout: float) -> bool:
        """Wait until no transaction is open and all committed records can be read; return whether that was in time.

        Its former owners are fenced, so nothing is added. To read less than they committed would lose state. `timeout`
        is in seconds.
        """
        deadline = clock() + timeout
        while self.end() < self.written_end():
            if clock() >= deadline:
                return False
            sleep(_RETRY_SECONDS)
        return True

    def written_end(self) -> int:
        """Return the offset after its last record, committed or not."""
        return self._offset(self._admin.written_offsets([self._stream]))

    def identity(self) -> str:
        """See `ChangelogReader.identity`."""
        return self._admin.identities([self._stream])[self._stream.name]

    def end(self) -> int:
        """See `ChangelogReader.end`."""
        return self._offset(self._admin.end_offsets([self._stream]))

    def _offset(self, offsets: Mapping[Ssp, int]) -> int:
        if self.ssp not in offsets:
            raise ProcessorLost(
                f"system {self.ssp.system} has no partition {self.ssp.partition} of the changelog "
                f"{self._stream.address}: if it was deleted, start a new run id"
            )
        return offsets[self.ssp]

    def read(self, start: int, end: int) -> Iterator[Messages]:
        """See `ChangelogReader.read`."""
        if start >= end:
            return
        self._consumer.assign({self.ssp: start}, {self.ssp: end})
        ended = False
        while not ended:
            for fetched in self._consumer.poll([self.ssp], _RECORDS, _POLL_SECONDS):
                yield fetched.messages
                ended = fetched.ended
