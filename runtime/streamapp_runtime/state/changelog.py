"""The changelog of a run: a keyed stream with one partition per task."""

from collections.abc import Callable, Iterator, Mapping

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ProcessorLost
from streamapp_systems.protocols import Consumer, Messages, StreamDescriptor, TransactionalAdmin

_RECORDS = 20_000
_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 0.05


class ChangelogPartitionReader:
    """Reads one partition of a changelog; see `ChangelogReader`."""

    def __init__(self, admin: TransactionalAdmin, consumer: Consumer, stream: StreamDescriptor, partition: int) -> None:
        """Take a consumer of the stream that is used for nothing else."""
        self._admin = admin
        self._consumer = consumer
        self._stream = stream
        self.ssp = Ssp(stream.system, stream.name, partition)

    def wait_until_readable(self, clock: Callable[[], float], sleep: Callable[[float], None], patience: float) -> bool:
        """Wait until all that was written is committed or aborted, and what is committed can be read.

        Its former owners are fenced, so nothing is added. To read less than they committed would be to go back. False:
        that has not come about in so many seconds.
        """
        deadline = clock() + patience
        while self.end() < self.written():
            if clock() >= deadline:
                return False
            sleep(_LOOK_SECONDS)
        return True

    def written(self) -> int:
        """Tell the offset after its last record, committed or not."""
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
                f"{self._stream.address}: if it was deleted, begin a new run"
            )
        return offsets[self.ssp]

    def read(self, start: int, end: int) -> Iterator[Messages]:
        """See `ChangelogReader.read`."""
        if start >= end:
            return
        self._consumer.assign({self.ssp: start}, {self.ssp: end})
        ended = False
        while not ended:
            for fetched in self._consumer.poll([self.ssp], _RECORDS, _WAIT_SECONDS):
                yield fetched.messages
                ended = fetched.ended
