"""The records of the soak: orders and payments as they lie in Kafka, and where a key belongs."""

import json
from dataclasses import dataclass

KEYS = 60
TICK = 10
"""Milliseconds of event time from one record to the next one."""
LATENESS = 120_000
"""By so many milliseconds of event time a record may come after later ones: the app's `maxOutOfOrderness`."""
TUMBLING, SESSION, WITHIN = 5_000, 905, 505
"""Milliseconds. No two records are just so far apart that it matters which side of a limit belongs to it."""

Offset = tuple[int, int]
"""A partition, and an offset in it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One order or payment: `number` is one of its own among all records, and rises with the time of writing."""

    key: int
    number: int
    value: int
    at: int
    place: Offset = (-1, -1)


def encode(record: Record) -> bytes:
    """Return a record's message."""
    return json.dumps({"k": record.key, "n": record.number, "v": record.value, "at": record.at}).encode()


def decode(message: bytes, place: Offset) -> Record:
    """Return the record of a message that lies at a place."""
    row = json.loads(message)
    return Record(key=row["k"], number=row["n"], value=row["v"], at=row["at"], place=place)


def partition_of(key: int, count: int) -> int:
    """Return the partition where Java's producers put a key, written as text: by murmur2."""
    return (_murmur2(str(key).encode()) & 0x7FFFFFFF) % count


def _murmur2(data: bytes) -> int:
    mask, factor, shift = 0xFFFFFFFF, 0x5BD1E995, 24
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * factor & mask
        word = (word ^ word >> shift) * factor & mask
        hashed = hashed * factor & mask ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * factor & mask
    hashed = (hashed ^ hashed >> 13) * factor & mask
    return hashed ^ hashed >> 15
