"""From a row's making to its result's arrival: 20,000 rows a second through one partitionBy and an aggregate.

The result of a key carries the time of its latest row; a consumer of committed records compares it with the clock.
"""

import os
import subprocess
import sys
import tempfile
import time

import msgspec
import numpy as np
from confluent_kafka import Consumer, TopicPartition
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_live import running
from benchmarks.kafka_load import PARTITIONS, InputSource, make_topics, now, offer

RATE, SECONDS, WARM_SECONDS = 20_000, 30.0, 10.0
INTERVALS = ("10ms", "20ms", "50ms")


class _Result(msgspec.Struct):
    at: int


def main() -> None:
    with Broker(kafka_jars(default_cache())) as broker:
        for interval in INTERVALS:
            found = measure(broker.bootstrap_servers, interval)
            shares = ", ".join(f"p{share} {np.percentile(found, share):.0f} ms" for share in (50, 90, 99))
            load = os.getloadavg()[0]
            longest = f"longest {found.max():.0f} ms, {len(found):,} results"
            print(f"commits every {interval}: {shares}, {longest}; load {load:.1f}", flush=True)


def measure(servers: str, interval: str) -> np.ndarray:
    """Return the delays of all results after the warm-up, in milliseconds."""
    topic, output = f"in-{interval}", f"out-{interval}"
    make_topics(servers, topic, output)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "latency",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.assign([TopicPartition(output, partition, 0) for partition in range(PARTITIONS)])
    with tempfile.TemporaryDirectory() as folder, running(folder, servers, topic, output, interval):
        while not consumer.consume(1, 1.0):
            offer(servers, topic, 1_000, 0.2, InputSource())
        load = [sys.executable, "-m", "benchmarks.kafka_load", servers, topic, str(RATE), str(SECONDS)]
        with subprocess.Popen(load) as generator:  # noqa: S603
            delays = _delays(consumer, generator)
    consumer.close()
    return delays


def _delays(consumer: Consumer, generator: subprocess.Popen[bytes]) -> np.ndarray:
    decode = msgspec.json.Decoder(_Result).decode
    warm = time.monotonic() + WARM_SECONDS
    found: list[int] = []
    while generator.poll() is None:
        messages = consumer.consume(2_000, 0.01)
        arrived = now()
        if time.monotonic() > warm:
            found += [arrived - decode(message.value()).at for message in messages if message.error() is None]
    return np.array(found)


if __name__ == "__main__":
    main()
