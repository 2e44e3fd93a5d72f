"""The results that an app has committed to a topic of eight partitions, and what they add up to."""

import time
from collections.abc import Iterator

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.kafka_load import LATER, PARTITIONS

_MARKER_SECONDS = 60.0


class _Result(msgspec.Struct):
    sensor: str
    readings: int = 1
    total: int = 0
    value: int = 0
    floor: int | None = None


def totals(servers: str, topic: str, *, replaced: bool) -> tuple[int, int, int]:
    """Return how many results there are, how many readings they count, and the sum of the values, floors included.

    Where results replace earlier ones of their sensor (`replaced`), the one with the most readings counts. Sensors that
    only make windows close are left out.
    """
    decode = msgspec.json.Decoder(_Result).decode
    results = (decode(message.value() or b"") for message in consumed(servers, topic))
    if replaced:
        last: dict[str, _Result] = {}
        for result in results:
            known = last.get(result.sensor)
            if known is None or known.readings < result.readings:
                last[result.sensor] = result
        results = iter(last.values())
    count = readings = total = 0
    for result in results:
        if not result.sensor.startswith(LATER):
            count += 1
            readings += result.readings
            total += result.total + result.value + (result.floor or 0)
    return count, readings, total


def consumed(servers: str, topic: str) -> Iterator[Message]:
    """Read what is committed in a topic of eight partitions, up to its end."""
    _wait_for_markers(servers, topic)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "check",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.queue.backoff.ms": 50,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    ended = 0
    while ended < PARTITIONS:
        for message in consumer.consume(10_000, 1.0):
            if message.error() is None:
                yield message
            else:
                ended += 1
    consumer.close()


def _wait_for_markers(servers: str, topic: str) -> None:
    """Wait until all that was written is committed or aborted: brokers end a transaction after they say so."""
    admin = AdminClient({"bootstrap.servers": servers})
    latest = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}

    def ends(isolation: IsolationLevel) -> list[int]:
        found = admin.list_offsets(latest, isolation_level=isolation)
        return [found[at].result().offset for at in latest]

    deadline = time.monotonic() + _MARKER_SECONDS
    while ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED):
        assert time.monotonic() < deadline, f"{topic}: a transaction is open"
        time.sleep(0.05)
