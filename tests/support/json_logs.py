"""Streams of JSON in the log of a folder, `log.db`."""

import json
from collections.abc import Iterable
from pathlib import Path

from support import log_messages
from support.log_messages import LogRecord

Record = tuple[int, str | None, dict | None]
"""A partition, a key and a value."""


def write(folder: Path, stream: str, partitions: int, records: Iterable[Record], *, epoch: int = 1) -> None:
    """Write records; those without a value delete."""
    encoded = (
        LogRecord(None if value is None else json.dumps(value).encode(), key and key.encode(), partition)
        for partition, key, value in records
    )
    log_messages.write(folder, stream, partitions, encoded, epoch=epoch)


def records(folder: Path, stream: str, partitions: int) -> list[tuple[bytes | None, bytes | None]]:
    """Read the keys and values of a stream in the order of their partitions."""
    return [(message.key, message.value) for message in log_messages.read(folder, stream, partitions)]


def newest(found: Iterable[tuple[bytes | None, bytes | None]]) -> dict[bytes | None, dict]:
    """Return the last value of each key that is not deleted."""
    last = {key: None if value is None else json.loads(value) for key, value in found}
    return {key: value for key, value in last.items() if value is not None}
