"""From a row's making to its result's arrival: 20,000 rows a second through an aggregate, behind a partitionBy or not.

The result of a key carries the time of its latest row; a consumer of committed records compares it with the clock.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence

import msgspec
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_live import running
from benchmarks.kafka_load import make_topics
from benchmarks.latency import Load, committed, delays, described

RATE, SECONDS, WARM_SECONDS = 20_000, 20.0, 15.0
CASES = {"shuffle": "through one partitionBy", "count": "without a shuffle"}
INTERVALS = ("1ms", "10ms", "20ms", "50ms")
_LONG = "3600"
"""Seconds after which a generator would end by itself."""


class _Result(msgspec.Struct):
    at: int


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kafka_latency", description=__doc__)
    parser.add_argument("--rate", type=int, default=RATE, help="rows a second")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long delays are measured")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--intervals", nargs="+", default=[*INTERVALS], help="times between commits")
    options = parser.parse_args(arguments)
    with Broker(kafka_jars(default_cache())) as broker:
        for case in options.cases:
            for interval in options.intervals:
                _measure(broker.bootstrap_servers, case, interval, options.rate, options.seconds)


def _measure(servers: str, case: str, interval: str, rate: int, seconds: float) -> None:
    """Print the delays of results with commits at an interval."""
    topic, output = f"in-{case}-{interval}", f"out-{case}-{interval}"
    make_topics(servers, topic, output)
    consumer = committed(servers, output)
    decode = msgspec.json.Decoder(_Result).decode
    load = Load(module="kafka_load", before=(servers, topic), rate=rate, behind=(_LONG,))
    with tempfile.TemporaryDirectory() as folder, running(case, folder, servers, topic, output, interval):
        found = delays(consumer, lambda value: decode(value).at, load, warm=WARM_SECONDS, seconds=seconds)
    consumer.close()
    print(f"{CASES[case]}, commits every {interval}: {described(found)}; load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
