"""StreamApp against Structured Streaming where event time decides: a windowed count and a join of two streams.

`python -m benchmarks.kafka_event_time [ROWS]`. One broker, one input; each run is a process of its own, the systems
take turns, and all must find the same results.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import msgspec
from confluent_kafka import Producer
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka import consumed
from benchmarks.kafka_load import PARTITIONS, InputSource, make_topics, partitions_of, send
from benchmarks.measured import Measured
from benchmarks.streaming import watched

ROWS = 2_000_000
REPETITIONS = 2
BEGIN = 1_700_000_000_000
_TICK_ROWS, _TICK_MILLISECONDS = 50, 10
"""Rows with one event time, and the milliseconds to the next: with 100,000 keys and 20 s, a row has one partner."""
_LATER_MILLISECONDS = 3_600_000
_FLUSHED_ROWS = 50_000
CASES = {"windows": "windowed count: a minute, by sensor", "pairs": "join of two streams, 10 s apart at most"}
SYSTEMS = {"StreamApp": "kafka_event_time_ours", "Spark, JVM, RocksDB": "kafka_event_time_spark"}


class _Result(msgspec.Struct):
    sensor: str
    readings: int
    total: int


@dataclass(slots=True)
class Side:
    """One system on one case, and what its runs took."""

    title: str
    module: str
    case: str
    rows: int
    runs: list[Measured] = field(default_factory=list)
    processor_time: list[float] = field(default_factory=list)

    def run(self, servers: str, output: str) -> tuple[int, int, int]:
        """Run once and give the totals of what came out."""
        make_topics(servers, output)
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", f"benchmarks.{self.module}", self.case, folder, servers, output]
            printed, processor_time = watched(command)
        self.runs.append(Measured.parse(printed))
        self.processor_time.append(processor_time)
        return _totals(servers, output)

    def figures(self) -> tuple[float, float, float]:
        """Return medians: rows a second without start-up, steady ones, and rows a CPU second."""
        steady = median(run.steady or self.rows / run.seconds for run in self.runs)
        return self.rows / median(run.seconds for run in self.runs), steady, self.rows / median(self.processor_time)


def fill(servers: str, topic: str, rows: int, seed: int) -> None:
    """Write readings whose event times advance in small steps, and one much later in each partition: windows close."""
    make_topics(servers, topic)
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 1_000_000, "linger.ms": 50})
    readings = InputSource(seed)
    for start in range(0, rows, _TICK_ROWS):
        send(producer, topic, readings.batch(_TICK_ROWS, BEGIN + start // _TICK_ROWS * _TICK_MILLISECONDS))
        if start % _FLUSHED_ROWS == 0:
            producer.flush()
    later = BEGIN + rows // _TICK_ROWS * _TICK_MILLISECONDS + _LATER_MILLISECONDS
    names = [b"last-%d" % number for number in range(100 * PARTITIONS)]
    for partition, name in dict(zip(partitions_of(names).tolist(), names, strict=True)).items():
        producer.produce(topic, b'{"sensor":"%b","value":0,"at":%d}' % (name, later), None, partition)
    producer.flush()


def _totals(servers: str, topic: str) -> tuple[int, int, int]:
    """Count the consumed results of all sensors, and add up what they count."""
    decode = msgspec.json.Decoder(_Result).decode
    results = (decode(message.value() or b"") for message in consumed(servers, topic))
    found = [result for result in results if not result.sensor.startswith("last")]
    return len(found), sum(result.readings for result in found), sum(result.total for result in found)


def _compare(servers: str, case: str, rows: int) -> None:
    sides = [Side(title, module, case, rows) for title, module in SYSTEMS.items()]
    found = []
    for repetition in range(REPETITIONS):
        for number, side in enumerate(sides):
            began = time.monotonic()
            found.append(side.run(servers, f"out-{case}-{repetition}-{number}"))
            print(f"  ran {side.title} in {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    assert all(totals == found[0] for totals in found), f"the systems disagree: {found}"
    assert case != "windows" or found[0][1] == rows, f"{found[0][1]} of {rows} rows are in windows"
    _print(f"{CASES[case]}; {rows:,} rows, {found[0][0]:,} results", sides)


def _print(title: str, sides: Sequence[Side]) -> None:
    print(f"{title}; rows/s, medians of {REPETITIONS}, and how many times as many StreamApp does")
    print(f"  {'':<36}{'without start-up':>20}{'steady':>20}{'per CPU second':>20}")
    ours = sides[0].figures()
    for side in sides:
        cells = [f"{rate:,.0f} ({best / rate:.1f}x)" for rate, best in zip(side.figures(), ours, strict=True)]
        print(f"  {side.title:<36}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def main(rows: int = ROWS) -> None:
    with Broker(kafka_jars(default_cache())) as broker:
        fill(broker.bootstrap_servers, "readings", rows, 17)
        fill(broker.bootstrap_servers, "left", rows // 2, 18)
        fill(broker.bootstrap_servers, "right", rows // 2, 19)
        for case in CASES:
            _compare(broker.bootstrap_servers, case, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
