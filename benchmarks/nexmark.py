"""The Nexmark queries from topic to topic: StreamApp beside Flink's SQL and Structured Streaming.

`python -m benchmarks nexmark`, or `python -m benchmarks.nexmark EVENTS REPETITIONS QUERY...` for some of them. Each run
is a process of its own in an empty folder; the systems take turns on one broker with one input, and what each has
committed must be what the oracle finds. Compared are events per CPU second once a system is warm: the CPU seconds of a
run over all events less those of a run over the first quarter of them (see docs/performance.md).
"""

import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from confluent_kafka import Message
from examples.nexmark.check import Oracle
from examples.nexmark.generate import make, write_files, write_topic
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka import consumed
from benchmarks.kafka_load import PARTITIONS, make_topics
from benchmarks.nexmark_flink import HERE as FLINK
from benchmarks.nexmark_queries import KEYS, QUERIES
from benchmarks.streaming import watched

EVENTS, RATE, DISORDER = 2_000_000, 10_000, 4_000
PART = 4
"""A short run has one of so many events."""
START = datetime(2026, 1, 1, tzinfo=UTC)
REPETITIONS = 3
NO_LAST_WINDOW = frozenset({"q12"})
"""Flink drops windows by the time of day that are open when its input ends."""
LIMIT_SECONDS = 400.0
_numbers = itertools.count()


@dataclass(slots=True)
class Side:
    """One system, which queries it can't express, and what its runs took."""

    title: str
    command: tuple[str, ...]
    missing: frozenset[str] = frozenset()
    runs: dict[str, list[float]] = field(default_factory=dict)
    """By query: the CPU seconds for the events that a long run has beyond a short one."""
    late: set[str] = field(default_factory=set)

    def run(self, query: str, servers: str, data: Path, topic: str) -> float:
        """Run a query, compare what it found, and return the CPU seconds.

        Raises:
            TimeoutError: it has not ended in time.
        """
        output = f"out-{next(_numbers)}"
        make_topics(servers, output)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            shutil.copy(data / "side.jsonl", folder)
            module, *more = self.command
            command = [sys.executable, "-m", f"benchmarks.{module}", *more, query, place, servers, topic, output]
            _, seconds = watched(command, LIMIT_SECONDS)
            results = folder / "results"
            results.mkdir()
            rows = final_rows(consumed(servers, output), KEYS.get(query, ()))
            (results / "part-1.json").write_bytes(b"".join(row + b"\n" for row in rows))
            with Oracle(data) as oracle:
                comparison = oracle.compare(query, results)
        if not comparison.equal:
            sys.exit(f"{self.title}, {query}: {comparison}")
        return seconds

    def rate(self, query: str, events: int) -> float | None:
        """Return events per CPU second; None: there is no run."""
        runs = self.runs.get(query)
        return (events - events // PART) / max(median(runs), 0.1) if runs else None


SIDES = (
    Side("StreamApp", ("nexmark_ours",)),
    Side("Flink, heap", ("nexmark_flink", "hashmap"), NO_LAST_WINDOW),
    Side("Flink, RocksDB", ("nexmark_flink", "rocksdb"), NO_LAST_WINDOW),
    Side(
        "Spark, RocksDB",
        ("nexmark_spark",),
        frozenset({"q04", "q05", "q07", "q09", "q12", "q15", "q16", "q18", "q19"}),
    ),
)


def final_rows(messages: Iterator[Message], key: Sequence[str]) -> Iterator[bytes]:
    """Return the rows of a topic; with a key the last one of each, unless its deletion came later."""
    if not key:
        yield from (message.value() or b"" for message in messages)
        return
    last: dict[tuple[object, ...], bytes] = {}
    for message in messages:
        value = message.value()
        row = json.loads(value or message.key() or b"{}")
        identity = tuple(row[name] for name in key)
        if value is None:
            last.pop(identity, None)
        else:
            last[identity] = value
    yield from last.values()


def main(events: int = EVENTS, repetitions: int = REPETITIONS, *queries: str) -> None:
    kafka_jars(default_cache(), FLINK / "pom.xml")
    with Broker(kafka_jars(default_cache())) as broker, tempfile.TemporaryDirectory() as place:
        servers = broker.bootstrap_servers
        data = {topic: Path(place) / topic for topic in ("part", "all")}
        lines = [*make(events=events, seed=1, rate=RATE, start=START, disorder=DISORDER)]
        for topic, some in (("part", lines[: events // PART]), ("all", lines)):
            write_files(data[topic], some, PARTITIONS)
            write_topic(servers, topic, some, PARTITIONS)
        del lines
        print("".join(f"{title:<26}" for title in ("events per CPU second", *(side.title for side in SIDES))))
        for query in queries or QUERIES:
            _measure(query, servers, data, repetitions)
            _print(query, events)


def _measure(query: str, servers: str, data: Mapping[str, Path], repetitions: int) -> None:
    """Run a query on all systems in turns."""
    for _, side in itertools.product(range(repetitions), SIDES):
        if query in side.missing or query in side.late:
            continue
        try:
            part, whole = (side.run(query, servers, folder, topic) for topic, folder in data.items())
        except TimeoutError:
            side.late.add(query)
            continue
        side.runs.setdefault(query, []).append(whole - part)


def _print(query: str, events: int) -> None:
    ours = SIDES[0].rate(query, events)
    cells = []
    for side in SIDES:
        rate = side.rate(query, events)
        if query in side.missing:
            cells.append("-")
        elif rate is None or query in side.late:
            cells.append(f"over {LIMIT_SECONDS:.0f} s")
        else:
            cells.append(f"{rate:,.0f}" + (f" ({ours / rate:.1f}x)" if ours and side is not SIDES[0] else ""))
    print("".join(f"{cell:<26}" for cell in (query, *cells)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
