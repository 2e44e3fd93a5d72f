"""The input of the Kafka benchmarks: readings of many sensors as JSON messages, put where the hash of their key says.

`python -m benchmarks.kafka_load SERVERS TOPIC RATE SECONDS` offers so many a second, each with the time it is made.
"""

import sys
import time
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from streamapp_core.murmur2 import murmur2, partitions

KEYS, PARTITIONS = 100_000, 8
BEGIN = 1_700_000_000_000
"""The event time of the first reading, in milliseconds."""
LATER = "last"
"""Sensors whose readings are much later, one in each partition, begin so: they make windows close."""
_LATER_MILLISECONDS = 3_600_000
_TICK_ROWS, _TICK_MILLISECONDS = 50, 10
"""Rows with one event time, and the milliseconds to the next: with 100,000 keys and 20 s, a row has one partner."""
_BATCH = 50_000
_TICK_SECONDS = 0.01
_LINE = (
    '{"sensor":"%s","value":%d,"at":%d,"site":"hall %02d",'
    '"note":"third row from the window, second shelf, left of the door, 4 m"}'
)

Messages = dict[int, list[dict[str, object]]]
"""Messages by partition."""


class InputSource:
    """Makes readings with random keys: the same ones in every run with the same seed."""

    def __init__(self, seed: int = 17) -> None:
        self._random = np.random.default_rng(seed)
        self._sensors = [f"sensor-{number:06d}" for number in range(KEYS)]
        self._keys = [sensor.encode() for sensor in self._sensors]
        self._partitions = partitions_of(self._keys)

    def batch(self, at: Sequence[int], /) -> Messages:
        """Return the messages of readings that were made at these times, in milliseconds."""
        rows = len(at)
        found: Messages = {partition: [] for partition in range(PARTITIONS)}
        numbers = self._random.integers(0, KEYS, rows)
        values = self._random.integers(0, 1_000, rows).tolist()
        partitions = self._partitions[numbers].tolist()
        for number, partition, value, time_ in zip(numbers.tolist(), partitions, values, at, strict=True):
            line = _LINE % (self._sensors[number], value, time_, number % 100)
            found[partition].append({"key": self._keys[number], "value": line.encode()})
        return found


def partitions_of(keys: list[bytes]) -> npt.NDArray[np.int64]:
    """Return the partition of each key, as Java producers would."""
    return partitions(murmur2(np.frombuffer(b"".join(keys), np.uint8), np.cumsum([0, *map(len, keys)])), PARTITIONS)


def now() -> int:
    """Return the time of day in milliseconds."""
    return time.time_ns() // 1_000_000


def make_topics(servers: str, *topics: str, kept: int | None = None) -> None:
    """Make topics of eight partitions, which keep all or about the last so many bytes each."""
    admin = AdminClient({"bootstrap.servers": servers})
    config = {} if kept is None else {"retention.bytes": str(kept), "segment.bytes": str(kept // 8)}
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=config) for topic in topics]).values():
        future.result()


def topics(case: str, rows: int) -> Mapping[str, str]:
    """Return the streams of a case of so many rows, each with its topic."""
    if case == "pairs":
        return {side: f"{side}-{rows // 2}" for side in ("left", "right")}
    return {"readings": f"readings-{rows}"}


def fill(servers: str, topic: str, rows: int, seed: int) -> None:
    """Make a topic of so many readings whose event times go on in steps, and one much later in each partition."""
    make_topics(servers, topic)
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 1_000_000, "linger.ms": 50})
    readings = InputSource(seed)
    for start in range(0, rows, _BATCH):
        ticks = np.arange(start, min(start + _BATCH, rows)) // _TICK_ROWS
        send(producer, topic, readings.batch((BEGIN + ticks * _TICK_MILLISECONDS).tolist()))
        producer.flush()
    later = BEGIN + rows // _TICK_ROWS * _TICK_MILLISECONDS + _LATER_MILLISECONDS
    names = [f"{LATER}-{number}".encode() for number in range(100 * PARTITIONS)]
    for partition, name in dict(zip(partitions_of(names).tolist(), names, strict=True)).items():
        producer.produce(topic, b'{"sensor":"%b","value":0,"at":%d}' % (name, later), name, partition)
    producer.flush()


def send(producer: Producer, topic: str, messages: Messages) -> None:
    """Hand messages to the client."""
    for partition, of_partition in messages.items():
        producer.produce_batch(topic, of_partition, partition)


def offer(servers: str, topic: str, per_second: int, seconds: float, readings: InputSource) -> None:
    """Write at a rate, a few rows every 10 ms."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})
    began, written = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        wanted = min(int(passed * per_second) - written, _BATCH)
        messages = readings.batch([now()] * wanted)
        send(producer, topic, messages)
        producer.poll(0)
        written += sum(map(len, messages.values()))
        time.sleep(_TICK_SECONDS)
    producer.flush()


if __name__ == "__main__":
    _, servers, topic, rate, seconds = sys.argv
    offer(servers, topic, int(rate), float(seconds), InputSource())
