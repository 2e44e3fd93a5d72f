"""StreamApp against Structured Streaming and Quix Streams on one broker, with one input (see docs/performance.md).

Each run is a process of its own in an empty folder; the systems take turns. All must find the same counts. Whoever has
not finished in time is killed, and shown as such.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_load import KEYS, PARTITIONS, fill, make_topics
from benchmarks.measured import Measured
from benchmarks.streaming import watched

ROWS = {"readings": 8_000_000, "few": 200_000, "fewer": 10_000}
"""Topics: systems that would take minutes for the first get less."""
REPETITIONS = 2
LIMIT_SECONDS = 300.0
_MARKER_SECONDS = 60.0
QUIX = "quixstreams==3.28.1"
_numbers = itertools.count()


@dataclass(slots=True)
class Side:
    """One system on one case, and what its runs took."""

    title: str
    module: str
    case: str
    topic: str = "readings"
    sent: bool = True
    late: bool = False
    runs: list[Measured] = field(default_factory=list)
    processor_time: list[float] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows that it reads."""
        return ROWS[self.topic]

    def run(self, servers: str) -> None:
        """Run once, unless it was too late before."""
        if self.late:
            return
        output = f"out-{self.case}-{next(_numbers)}"
        make_topics(servers, output)
        with tempfile.TemporaryDirectory() as folder:
            _make_places(Path(folder) / "places")
            module = f"benchmarks.{self.module}"
            command = [sys.executable, "-m", module, self.case, folder, servers, self.topic, output]
            try:
                printed, processor_time = watched(command, LIMIT_SECONDS)
            except TimeoutError:
                self.late = True
                return
        self.runs.append(Measured.parse(printed))
        self.processor_time.append(processor_time)
        if self.sent:
            check(servers, output, self.rows, joined=self.case == "join")

    def figures(self) -> tuple[float, float, float]:
        """Return medians: rows a second without start-up, steady ones, and rows a CPU second."""
        steady = [run.steady or self.rows / run.seconds for run in self.runs]
        without_start = self.rows / median(run.seconds for run in self.runs)
        return without_start, median(steady), self.rows / median(self.processor_time)


CASES = {
    "keyed count, input already partitioned by the key": [
        Side("StreamApp", "kafka_ours", "count"),
        Side("Spark, JVM, RocksDB", "kafka_spark", "count"),
        Side("Spark, JVM, RocksDB, no output", "kafka_spark", "count-unsent", sent=False),
        Side("Spark, transformWithState (rows)", "kafka_spark", "rows", topic="few"),
        Side("Spark, transformWithStateInPandas", "kafka_spark", "pandas", topic="fewer"),
        Side("Quix Streams, 2 processes", "kafka_quix_runs", "quix", topic="few"),
    ],
    "keyed count with a repartition": [
        Side("StreamApp", "kafka_ours", "shuffle"),
        Side("Spark, JVM, RocksDB", "kafka_spark", "count"),
    ],
    "table join, one output a row": [
        Side("StreamApp", "kafka_ours", "join"),
        Side("Spark, JVM, broadcast", "kafka_spark", "join"),
    ],
}


def _make_places(folder: Path) -> None:
    folder.mkdir()
    sensors = [f"sensor-{number:06d}" for number in range(KEYS)]
    floors = pa.array((number % 9 for number in range(KEYS)), pa.int32())
    rooms = [f"room {number % 77}" for number in range(KEYS)]
    pq.write_table(pa.table({"sensor": sensors, "floor": floors, "room": rooms}), folder / "places.parquet")


def check(servers: str, topic: str, rows: int, *, joined: bool) -> None:
    """Find out whether what is committed is right: the last counts add up to all rows, or there is one result a row."""
    readings: dict[bytes | None, int] = {}
    count = 0
    for message in consumed(servers, topic):
        count += 1
        if not joined:
            key = message.key()
            readings[key] = max(readings.get(key, 0), json.loads(message.value() or b"")["readings"])
    found = count if joined else sum(readings.values())
    assert found == rows, f"{topic}: {found} of {rows} rows"


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


def _print(title: str, sides: list[Side]) -> None:
    print(f"{title}; rows/s, medians of {REPETITIONS}, and how many times as many StreamApp does")
    print(f"  {'':<36}{'without start-up':>20}{'steady':>20}{'per CPU second':>20}")
    ours = sides[0].figures() if not sides[0].late else (math.nan,) * 3
    for side in sides:
        if side.late:
            cells = [f"did not finish {side.rows:,} rows in {LIMIT_SECONDS:.0f} s"]
        else:
            cells = [f"{rate:,.0f} ({best / rate:.1f}x)" for rate, best in zip(side.figures(), ours, strict=True)]
        print(f"  {side.title:<36}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def quix_python() -> Path:
    """Return the interpreter of an environment that has Quix Streams, made once in the cache."""
    folder = default_cache() / QUIX
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603
        subprocess.run([python, "-m", "pip", "install", "--quiet", QUIX], check=True)  # noqa: S603
    return python


def main() -> None:
    quix_python()
    with Broker(kafka_jars(default_cache())) as broker:
        for topic, rows in ROWS.items():
            fill(broker.bootstrap_servers, topic, rows)
        for title, sides in CASES.items():
            for _ in range(REPETITIONS):
                for side in sides:
                    began = time.monotonic()
                    side.run(broker.bootstrap_servers)
                    taken, load = time.monotonic() - began, os.getloadavg()[0]
                    print(f"  ran {side.title} in {taken:.0f} s, load {load:.1f}", flush=True)
            _print(title, sides)


if __name__ == "__main__":
    main()
