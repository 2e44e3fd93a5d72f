"""The coordinator stream of an app: which driver is the newest, and what must never be lost of its run (design 6, 9).

It lies in the system of the changelog, where every worker comes by, whatever has become of the driver it knows. One
partition tells who the newest driver is: a record of a few bytes, which workers read at every start. The other one
holds the documents of the job model, for those who have lost theirs. Both are written in one transaction, under a
transactional id that drivers take over from each other, so that of two drivers only the later one writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

import msgspec

from streamapp_core.job_model.documents import POINTER, JobModelDocuments, read_pointer, read_shards
from streamapp_core.job_model.model import JobModel
from streamapp_core.spec.app import StreamApp
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import Superseded
from streamapp_runtime.state.changelog import PartitionReader
from streamapp_runtime.streams import coordinator_stream
from streamapp_systems.protocols import Fenced, Transactional
from streamapp_systems.registry import open_consumer, open_producer, open_transactional_admin

_DRIVER, _MODEL = 0, 1
_KEY = b"driver"


class DriverRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The newest driver of an app: its epoch, its run, and the addresses of the streams made for the run, by system."""

    epoch: int
    run_id: str
    made: dict[str, list[str]]
    completed: bool = False


class Coordinator:
    """Reads and writes the coordinator stream of one app. Nothing stays open in between; any thread may use it."""

    def __init__(self, app: StreamApp, system: str, folder: Path) -> None:
        """Take the app's default system, and the folder that relative paths of the spec resolve from."""
        self._app = app
        self._system = system
        self._spec = app.spec.systems[system]
        self._folder = folder
        self._stream = coordinator_stream(app.metadata, system)

    def newest(self) -> DriverRecord | None:
        """Tell which driver is the newest; None if there has never been one.

        Raises:
            StreamSystemError: the stream can't be read.
        """
        data = self._latest(_DRIVER).get(_KEY)
        return None if data is None else msgspec.json.decode(data, type=DriverRecord)

    def job_model(self) -> JobModel | None:
        """Read the job model that the newest driver announced; None if there has never been one.

        Raises:
            JobModelUnreadableError: it is damaged, or of a later release.
            StreamSystemError: the stream can't be read.
        """
        documents = {key.decode(): value for key, value in self._latest(_MODEL).items()}
        pointer = documents.pop(POINTER, None)
        return None if pointer is None else read_shards(read_pointer(pointer), documents)

    def announce(self, record: DriverRecord, model: JobModel, now: int) -> None:
        """Say that this driver is the newest, and which job model is in force; `now` is in milliseconds since 1970.

        Raises:
            Superseded: a later one has said so.
            StreamSystemError: the stream can't be made or written.
        """
        with closing(open_transactional_admin(self._system, self._spec, self._folder)) as admin:
            admin.create({self._stream: 2})
        metadata = self._app.metadata
        owner = Transactional(id=f"{metadata.uid or metadata.name}-coordinator", epoch=record.epoch)
        try:
            producer = open_producer(self._system, self._spec, self._folder, [self._stream], owner)
            with closing(producer):
                self.check(record.epoch)
                stale = self._latest(_MODEL).keys()
                for key, value in _entries(model, record.epoch, stale).items():
                    producer.send(self._ssp(_MODEL), value, key=key, timestamp=now)
                producer.send(self._ssp(_DRIVER), msgspec.json.encode(record), key=_KEY, timestamp=now)
                producer.commit()
        except Fenced as fenced:
            raise Superseded(f"another driver of {metadata.name} has taken over: {fenced}") from None

    def check(self, epoch: int) -> None:
        """Go on only if no driver is newer than that of this epoch.

        Raises:
            Superseded: one is.
            StreamSystemError: the stream can't be read.
        """
        newest = self.newest()
        if newest is not None and newest.epoch > epoch:
            raise Superseded(
                f"epoch {newest.epoch} of {self._app.metadata.name} (run {newest.run_id}) has begun elsewhere: "
                f"the driver of epoch {epoch} ends here"
            )

    def _ssp(self, partition: int) -> Ssp:
        return Ssp(self._system, self._stream.name, partition)

    def _latest(self, partition: int) -> Mapping[bytes, bytes]:
        """Read the newest value of each key in a partition."""
        latest: dict[bytes, bytes] = {}
        with self._reader(partition) as reader:
            if reader is not None:
                for message in chain.from_iterable(reader.read(0, reader.end())):
                    if message.value is None:
                        latest.pop(message.key or b"", None)
                    else:
                        latest[message.key or b""] = message.value
        return latest

    @contextmanager
    def _reader(self, partition: int) -> Iterator[PartitionReader | None]:
        with closing(open_transactional_admin(self._system, self._spec, self._folder)) as admin:
            if not admin.partitions([self._stream]):
                yield None
                return
            with closing(open_consumer(self._system, self._spec, self._folder, [self._stream])) as consumer:
                yield PartitionReader(admin, consumer, self._stream, partition)


def _entries(model: JobModel, epoch: int, stale: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """Give the records that make a model the one in force, and delete the shards of former ones."""
    documents = JobModelDocuments.of(model, epoch=epoch)
    current = {name.encode(): shard for name, shard in documents.shards.items()}
    return {**dict.fromkeys(stale), **current, POINTER.encode(): documents.pointer}
