"""Streams in the log of a folder, `log.db`, as other programs write and read them."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import Message, StreamDescriptor, TransactionOwner


class LogRecord(NamedTuple):
    """What a producer sends; no value deletes the key."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    timestamp: int = 0


def _descriptor(stream: str) -> StreamDescriptor:
    return StreamDescriptor(name=stream, system="log", address=stream, format=StreamFormat.JSON)


def write(folder: Path, stream: str, partitions: int, records: Iterable[LogRecord], *, epoch: int = 1) -> None:
    """Write records to a stream, which is created if there is none."""
    described, owner = _descriptor(stream), TransactionOwner(id=f"source of {stream}", epoch=epoch)
    with closing(LogAdmin(folder / "log.db")) as admin:
        admin.create({described: partitions})
    with closing(LogProducer(folder / "log.db", [described], owner)) as producer:
        for record in records:
            ssp = Ssp("log", stream, record.partition)
            producer.send(ssp, record.value, key=record.key, timestamp=record.timestamp)
        producer.commit()


def read_partitions(folder: Path, stream: str, partitions: int) -> list[tuple[Message, ...]]:
    """Return the messages of each partition of a stream."""
    ssps = [Ssp("log", stream, partition) for partition in range(partitions)]
    with closing(LogConsumer(folder / "log.db", [_descriptor(stream)])) as consumer:
        consumer.assign(dict.fromkeys(ssps, 0), {})
        found = {fetched.ssp: fetched.messages for fetched in consumer.poll(ssps, 10_000, 0)}
    return [tuple(found.get(ssp, ())) for ssp in ssps]


def read(folder: Path, stream: str, partitions: int = 1) -> list[Message]:
    """Return the messages of a stream in the order of their partitions."""
    return [message for messages in read_partitions(folder, stream, partitions) for message in messages]
