"""The delays of results: from the time that a result names to its arrival at a consumer of committed records."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, TopicPartition

from benchmarks.kafka_load import PARTITIONS, now

_START_SECONDS = 240.0


def committed(servers: str, output: str) -> Consumer:
    """Open a consumer of what is committed in a topic of eight partitions, from its begin on."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "latency",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.assign([TopicPartition(output, partition, 0) for partition in range(PARTITIONS)])
    return consumer


def delays(
    consumer: Consumer, time_of: Callable[[bytes], int], *, warm: float, seconds: float
) -> npt.NDArray[np.int64]:
    """Return the delays in milliseconds of results that arrive in some seconds, after others to warm up.

    `time_of` gives the time of a result in milliseconds; the warm-up begins with the first result.

    Raises:
        TimeoutError: no result has come.
    """
    deadline = time.monotonic() + _START_SECONDS
    while not [message for message in consumer.consume(1, 1.0) if message.error() is None]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no result in {_START_SECONDS:g} s")
    begin = time.monotonic() + warm
    found: list[int] = []
    while (moment := time.monotonic()) < begin + seconds:
        messages = consumer.consume(2_000, 0.01)
        arrived = now()
        if moment > begin:
            found += [arrived - time_of(message.value() or b"") for message in messages if message.error() is None]
    return np.array(found, np.int64)


def described(found: Sequence[int] | npt.NDArray[np.int64]) -> str:
    """Write the percentiles of delays."""
    if not len(found):
        return "no results"
    shares = ", ".join(f"p{share} {np.percentile(found, share):.0f} ms" for share in (50, 90, 99))
    return f"{shares}, longest {max(found):.0f} ms, {len(found):,} results"
