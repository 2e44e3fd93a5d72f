"""The coordinator stream of an app: its newest driver, and its job model, which must never be lost.

It is in the system of the changelog, which every worker reads, whatever has become of its driver. One partition has
the newest driver: a record of a few bytes, which workers read at every start. The other one has the documents of the
job model, for drivers that have lost theirs. Both are written in one transaction, under a transactional id that each
driver takes over from the previous one, so that of two drivers only the later one writes (docs/protocols.md).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import JobModelUnreadableError
from streamapp_core.job_model.job_model_shards import POINTER, JobModelDocuments
from streamapp_core.naming import coordinator_transactional_id, old_coordinator_transactional_id, stream_prefix
from streamapp_core.spec.app import StreamApp
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import Superseded
from streamapp_systems.clock import Clock
from streamapp_systems.coordinator_stream import (
    DRIVER,
    DRIVER_KEY,
    MODEL,
    CoordinatorReader,
    DriverRecord,
    coordinator_stream,
)
from streamapp_systems.protocols import Fenced, StreamDescriptor, TransactionOwner, Unavailable
from streamapp_systems.registry import Systems

_READABLE_SECONDS = 60.0
_PAUSE_SECONDS = 0.1


class Coordinator:
    """Reads and writes the coordinator stream of one app. Nothing stays open in between; any thread may use it."""

    def __init__(self, app: StreamApp, system: str, systems: Systems) -> None:
        """Take the app's default system, and what opens it."""
        self._app = app
        self._system = system
        self._spec = app.system(system)
        self._systems = systems
        self._stream = coordinator_stream(app, system)

    @property
    def stream(self) -> StreamDescriptor:
        """The coordinator stream."""
        return self._stream

    def newest(self) -> DriverRecord | None:
        """See `CoordinatorReader.newest`."""
        with self._reader() as reader:
            return reader.newest()

    def job_model(self) -> JobModel | None:
        """See `CoordinatorReader.job_model`."""
        with self._reader() as reader:
            return reader.job_model()

    def announce(self, record: DriverRecord, model: JobModel, clock: Clock) -> None:
        """Write this driver as the newest, with its active job model.

        When this returns, everybody can read it: Kafka confirms a commit before its records can be read.

        Raises:
            Superseded: a later driver has done so.
            Unavailable: it can't be read for long; try again.
            StreamSystemError: the stream can't be created or written.
        """
        with closing(self._systems.open_transactional_admin(self._system, self._spec)) as admin:
            admin.create({self._stream: 2})
        self._take_over(record, model, clock)
        self._wait_until_readable(record, model, clock)

    def supersede(self, record: DriverRecord, clock: Clock) -> None:
        """Write this driver as the newest, if a driver of an earlier run has announced itself here.

        For the stream that an earlier run had under another prefix or in another system: its driver may live on, and
        would take over its ids again and again.

        Raises:
            Superseded: a later driver has announced itself.
            StreamSystemError: the stream can't be read or written.
        """
        newest = self.newest()
        if newest is None or newest == record:
            return
        self._take_over(record, None, clock)

    def announced_ids(self) -> Collection[str]:
        """Return the transactional ids of the newest driver's job model, as far as it can be read.

        Raises:
            StreamSystemError: the stream can't be read.
        """
        with suppress(JobModelUnreadableError):
            model = self.job_model()
            return () if model is None else model.transactional_ids
        return ()

    def _take_over(self, record: DriverRecord, model: JobModel | None, clock: Clock) -> None:
        try:
            while not self._announce(record, model, clock.time_of_day(), self._transactional_ids()):
                continue
        except Fenced as fenced:
            raise Superseded(f"another driver of {self._app.metadata.name} has taken over: {fenced}") from None

    def _announce(self, record: DriverRecord, model: JobModel | None, now: int, ids: Sequence[str]) -> bool:
        """Announce a driver with its model under the last of some ids; return whether drivers take over these."""
        *others, owner = (TransactionOwner(id=id_, epoch=record.epoch) for id_ in ids)
        if others:
            with closing(self._systems.open_transactional_admin(self._system, self._spec)) as admin:
                admin.fence(others)
        with closing(self._systems.open_producer(self._system, self._spec, [self._stream], owner)) as producer:
            if ids != self._transactional_ids():
                return False
            self.raise_if_superseded(record.epoch, record.run_id)
            if model is not None:
                with self._reader() as reader:
                    stale = reader.latest(MODEL).keys()
                for key, value in _entries(model, record.epoch, stale).items():
                    producer.send(self._ssp(MODEL), value, key=key, timestamp=now)
            producer.send(self._ssp(DRIVER), msgspec.json.encode(record), key=DRIVER_KEY, timestamp=now)
            producer.commit()
        return True

    def _transactional_ids(self) -> Sequence[str]:
        """Return the ids that drivers take over from each other; the last one writes.

        They follow from the newest run announced: the first driver of a run with the app's prefix in its ids takes over
        from the last one of a run without. If its job model can't be read, either may be the id of its drivers.
        """
        begin = stream_prefix(self._app.name_prefix)
        ours, old = (
            coordinator_transactional_id(self._app.name_prefix),
            old_coordinator_transactional_id(self._app.metadata),
        )
        announced = self.announced_ids()
        if self.newest() is None or any(id_.startswith(begin) for id_ in announced):
            return [ours]
        return [old] if announced else [old, ours]

    def raise_if_superseded(self, epoch: int, run_id: str | None = None) -> None:
        """Raise if a driver is newer than that of this epoch, or one of the same epoch belongs to another run.

        Two drivers that start at the same time, in folders that don't share state, may have chosen the same epoch.

        Raises:
            Superseded: there is one.
            StreamSystemError: the stream can't be read.
        """
        newest = self.newest()
        if newest is None:
            return
        as_new = newest.epoch == epoch and run_id not in (None, newest.run_id)
        if newest.epoch > epoch or as_new:
            raise Superseded(
                f"epoch {newest.epoch} of {self._app.metadata.name} (run {newest.run_id}) was started elsewhere: "
                f"the driver of epoch {epoch} ends here"
            )

    def _wait_until_readable(self, record: DriverRecord, model: JobModel, clock: Clock) -> None:
        """Wait for what was committed, in both partitions: each has a leader of its own."""
        pointer = JobModelDocuments.of(model, epoch=record.epoch).pointer
        deadline = clock.monotonic() + _READABLE_SECONDS
        while True:
            with self._reader() as reader:
                if reader.newest() == record and reader.latest(MODEL).get(POINTER.encode()) == pointer:
                    return
            self.raise_if_superseded(record.epoch, record.run_id)
            if clock.monotonic() >= deadline:
                raise Unavailable(
                    f"{self._stream.address} in system {self._system}: what the driver of epoch {record.epoch} has "
                    f"committed can't be read after {_READABLE_SECONDS:g} s: another transaction is open in this "
                    "stream, or a broker is away"
                )
            clock.sleep(_PAUSE_SECONDS)

    def _ssp(self, partition: int) -> Ssp:
        return Ssp(self._system, self._stream.name, partition)

    @contextmanager
    def _reader(self) -> Iterator[CoordinatorReader]:
        with closing(self._systems.open_transactional_admin(self._system, self._spec)) as admin:
            yield CoordinatorReader(
                self._stream, admin, lambda: self._systems.open_consumer(self._system, self._spec, [self._stream])
            )


def _entries(model: JobModel, epoch: int, stale: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """Return the records that make a model the active one, and delete the shards of previous ones."""
    documents = JobModelDocuments.of(model, epoch=epoch)
    current = {name.encode(): shard for name, shard in documents.shards.items()}
    return {**dict.fromkeys(stale), **current, POINTER.encode(): documents.pointer}
