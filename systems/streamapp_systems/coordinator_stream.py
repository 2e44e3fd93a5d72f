"""The coordinator stream of an app: its newest driver, and the job model of that one (docs/protocols.md).

Drivers write it and workers read it; to the Kubernetes operator it is the second copy of what must not be lost.
"""

from collections.abc import Callable, Mapping

import msgspec

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_shards import POINTER, read_pointer, read_shards
from streamapp_core.naming import COORDINATOR, coordinator_stream_address
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Admin, Consumer, StreamDescriptor, Unavailable

DRIVER, MODEL = 0, 1
"""Its partitions: the record of the newest driver, and the documents of the job model."""
DRIVER_KEY = b"driver"
_RECORDS = 20_000
_WAIT_SECONDS = 1.0


class DriverRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The newest driver of an app: its epoch, its run, and the addresses of the streams made for the run, by system."""

    epoch: int
    run_id: str
    made: dict[str, list[str]]
    completed: bool = False


_decode = msgspec.json.Decoder(DriverRecord).decode


def coordinator_stream(app: StreamApp, system: str) -> StreamDescriptor:
    """Describe the coordinator stream of an app, which outlives its runs."""
    address = coordinator_stream_address(app.name_prefix)
    return StreamDescriptor(name=COORDINATOR, system=system, address=address, format=StreamFormat.JSON, keyed=True)


class CoordinatorReader:
    """Reads a coordinator stream, with a consumer of its own for each answer."""

    def __init__(self, stream: StreamDescriptor, admin: Admin, open_consumer: Callable[[], Consumer]) -> None:
        self._stream = stream
        self._admin = admin
        self._open_consumer = open_consumer

    def newest(self) -> DriverRecord | None:
        """Read the record of the newest driver; None if there has never been one.

        Raises:
            StreamSystemError: the stream can't be read.
        """
        data = self.latest(DRIVER).get(DRIVER_KEY)
        return None if data is None else _decode(data)

    def job_model(self) -> JobModel | None:
        """Read the job model that the newest driver announced; None if there has never been one.

        Raises:
            JobModelUnreadableError: it is damaged, or of a later release.
            StreamSystemError: the stream can't be read.
        """
        documents = {key.decode(): value for key, value in self.latest(MODEL).items()}
        pointer = documents.pop(POINTER, None)
        return None if pointer is None else read_shards(read_pointer(pointer), documents)

    def latest(self, partition: int) -> Mapping[bytes, bytes]:
        """Read the newest value of each key in a partition.

        Raises:
            StreamSystemError: the stream can't be read.
        """
        if not self._admin.partitions([self._stream]):
            return {}
        ssp = Ssp(self._stream.system, self._stream.name, partition)
        if (end := self._admin.end_offsets([self._stream]).get(ssp)) is None:
            raise Unavailable(
                f"{ssp}: no broker that answers knows the topic {self._stream.address}, which one did know"
            )
        consumer = self._open_consumer()
        try:
            return _latest(consumer, ssp, end)
        finally:
            consumer.close()


def _latest(consumer: Consumer, ssp: Ssp, end: int) -> Mapping[bytes, bytes]:
    latest: dict[bytes, bytes] = {}
    consumer.assign({ssp: 0}, {ssp: end})
    ended = end == 0
    while not ended:
        for fetched in consumer.poll([ssp], _RECORDS, _WAIT_SECONDS):
            for message in fetched.messages:
                if message.value is None:
                    latest.pop(message.key or b"", None)
                else:
                    latest[message.key or b""] = message.value
            ended = fetched.ended
    return latest
