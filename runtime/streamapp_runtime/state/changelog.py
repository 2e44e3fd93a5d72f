"""The changelog of a run: a keyed stream with one partition per task."""

from collections.abc import Callable, Iterator

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ProcessorLost
from streamapp_systems.protocols import Consumer, Messages, StreamDescriptor, TransactionalAdmin

_RECORDS = 20_000
_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_SETTLE_SECONDS = 30.0
"""Brokers abort transactions that they hear nothing of in half of this time."""


class PartitionReader:
    """Reads one partition of a changelog; see `ChangelogReader`."""

    def __init__(self, admin: TransactionalAdmin, consumer: Consumer, stream: StreamDescriptor, partition: int) -> None:
        """Take a consumer of the stream that is used for nothing else."""
        self._admin = admin
        self._consumer = consumer
        self._stream = stream
        self._ssp = Ssp(stream.system, stream.name, partition)

    def settle(
        self, clock: Callable[[], float], sleep: Callable[[float], None], patience: float = _SETTLE_SECONDS
    ) -> None:
        """Wait until all that was written is committed or aborted, and what is committed can be read.

        Its former owners are fenced, so nothing is added. To read less than they committed would be to go back.

        Raises:
            ProcessorLost: that has not come about in so many seconds.
        """
        deadline = clock() + patience
        while (written := self._admin.written_offsets([self._stream]).get(self._ssp)) is not None:
            settled = self.end()
            if settled >= written:
                return
            if clock() >= deadline:
                raise ProcessorLost(
                    f"changelog {self._stream.address}, partition {self._ssp.partition}: a transaction from offset "
                    f"{settled} on was neither committed nor aborted in {patience:g} s"
                )
            sleep(_LOOK_SECONDS)

    def identity(self) -> str:
        """See `ChangelogReader.identity`."""
        return self._admin.identity(self._stream)

    def end(self) -> int:
        """See `ChangelogReader.end`."""
        end = self._admin.end_offsets([self._stream]).get(self._ssp)
        if end is None:
            raise ProcessorLost(
                f"system {self._ssp.system} has no partition {self._ssp.partition} of the changelog "
                f"{self._stream.address}: if it was deleted, begin a new run"
            )
        return end

    def read(self, start: int, end: int) -> Iterator[Messages]:
        """See `ChangelogReader.read`."""
        if start >= end:
            return
        self._consumer.assign({self._ssp: start}, {self._ssp: end})
        ended = False
        while not ended:
            for fetched in self._consumer.poll([self._ssp], _RECORDS, _WAIT_SECONDS):
                yield fetched.messages
                ended = fetched.ended
