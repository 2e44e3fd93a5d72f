"""Streams of JSON in the log of a folder, `log.db`, as other programs write and read them."""

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner


def _descriptor(stream: str) -> StreamDescriptor:
    return StreamDescriptor(name=stream, system="log", address=stream, format=StreamFormat.JSON)


Record = tuple[int, str | None, dict | None]
"""A partition, a key and a value."""


def write(folder: Path, stream: str, partitions: int, records: Iterable[Record], *, epoch: int = 1) -> None:
    """Write records; those without a value delete."""
    with closing(LogAdmin(folder / "log.db")) as admin:
        admin.create({_descriptor(stream): partitions})
    with closing(
        LogProducer(folder / "log.db", [_descriptor(stream)], TransactionOwner(id="shop", epoch=epoch))
    ) as producer:
        for partition, key, value in records:
            encoded = None if value is None else json.dumps(value).encode()
            name = None if key is None else key.encode()
            producer.send(Ssp("log", stream, partition), encoded, key=name, timestamp=0)
        producer.commit()


def records(folder: Path, stream: str, partitions: int) -> list[tuple[bytes | None, bytes | None]]:
    """Read the keys and values of a stream in the order of their partitions."""
    ssps = [Ssp("log", stream, partition) for partition in range(partitions)]
    with closing(LogConsumer(folder / "log.db", [_descriptor(stream)])) as consumer:
        consumer.assign(dict.fromkeys(ssps, 0), {})
        return [(m.key, m.value) for fetched in consumer.poll(ssps, 10_000, 0) for m in fetched.messages]


def newest(found: Iterable[tuple[bytes | None, bytes | None]]) -> dict[bytes | None, dict]:
    """Return the last value of each key that is not deleted."""
    last = {key: None if value is None else json.loads(value) for key, value in found}
    return {key: value for key, value in last.items() if value is not None}
