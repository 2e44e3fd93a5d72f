"""Nexmark events at a rate, each with the time when it is sent: `python -m benchmarks.nexmark_load SERVERS TOPIC RATE`.

It ends when it is killed. Some events are made at first, and sent again and again with new times.
"""

import itertools
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from confluent_kafka import Producer
from examples.nexmark.generate import make

from benchmarks.kafka_load import PARTITIONS

EVENTS = 50_000
_TICK_SECONDS = 0.01
_FIELD = b'"dateTime":"'
_TIME = len("2026-01-01T00:00:00.000Z")


def parts_of(lines: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Divide events into what is before and behind the text of their time."""
    found = []
    for line in lines:
        start = line.index(_FIELD) + len(_FIELD)
        found.append((line[:start], line[start + _TIME :]))
    return found


def written(moment: datetime) -> bytes:
    """Write a time as events have it."""
    return moment.isoformat(timespec="milliseconds")[:23].encode() + b"Z"


def main() -> None:
    _, servers, topic, rate = sys.argv
    lines = [*make(events=EVENTS, seed=1, rate=int(rate), start=datetime(2026, 1, 1, tzinfo=UTC), disorder=0)]
    events = itertools.cycle(parts_of(lines))
    partitions = itertools.cycle(range(PARTITIONS))
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})
    began, sent = time.monotonic(), 0
    while True:
        wanted = int((time.monotonic() - began) * int(rate)) - sent
        now = written(datetime.now(UTC))
        for (before, behind), partition in zip(itertools.islice(events, wanted), partitions, strict=False):
            producer.produce(topic, b"".join((before, now, behind)), None, partition)
        sent += wanted
        producer.poll(0)
        time.sleep(_TICK_SECONDS)


if __name__ == "__main__":
    main()
