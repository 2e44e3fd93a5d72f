"""The Nexmark queries from topic to topic: StreamApp beside Flink's SQL and Structured Streaming.

Each run is a process of its own in an empty folder; the systems take turns on one broker with one input, and what each
has committed must be what the oracle finds. Compared are events per CPU second once a system is warm: the CPU seconds
of a run over all events less those of a run over the first quarter of them (see docs/performance.md). What was
measured is kept in `build/benchmarks`, and so are the events: a call makes the runs that are missing there.
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Message
from examples.nexmark.check import Oracle
from examples.nexmark.generate import make, write_files, write_topic
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.flink_sql import HERE as FLINK
from benchmarks.flink_sql import classes
from benchmarks.kafka_load import PARTITIONS, make_topics
from benchmarks.kafka_results import consumed
from benchmarks.nexmark_queries import KEYS, QUERIES
from benchmarks.runs import FOLDER, PART, Runs, cell

EVENTS, ROUNDS = 2_000_000, 3
RATE, DISORDER = 10_000, 4_000
START = datetime(2026, 1, 1, tzinfo=UTC)
OURS = "streamapp"
LIMIT_SECONDS = 600.0
NO_LAST_WINDOW = frozenset({"q12"})
"""Flink drops windows by the time of day that are open when its input ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system, its module and arguments, and which queries it can't express."""

    title: str
    command: tuple[str, ...]
    missing: frozenset[str] = frozenset()


SYSTEMS: Mapping[str, System] = {
    OURS: System(title="StreamApp", command=("nexmark_ours",)),
    "flink-heap": System(title="Flink, heap", command=("nexmark_flink", "heap"), missing=NO_LAST_WINDOW),
    "flink-rocksdb": System(title="Flink, RocksDB", command=("nexmark_flink", "rocksdb"), missing=NO_LAST_WINDOW),
    "spark": System(
        title="Spark, RocksDB",
        command=("nexmark_spark",),
        missing=frozenset({"q04", "q05", "q07", "q09", "q12", "q15", "q16", "q18", "q19"}),
    ),
}


@dataclass(slots=True)
class Bench:
    """A broker, the topics on it, and what is known; `spread` has bids of anybody on anything."""

    servers: str
    runs: Runs
    limit: float
    spread: bool
    topics: set[str] = field(default_factory=set)
    outputs: Iterator[int] = field(default_factory=itertools.count)

    def run(self, name: str, query: str, events: int, number: int) -> None:
        """Run a system on a query, unless that run is known; what is found must be what the oracle finds."""
        output = f"out-{next(self.outputs)}"
        data = events_folder(events, spread=self.spread)
        topic = data.name
        with tempfile.TemporaryDirectory() as place:
            module, *form = SYSTEMS[name].command
            command = [sys.executable, "-m", f"benchmarks.{module}", *form, query, place, self.servers, topic, output]

            def prepare() -> None:
                write_events(data, events, spread=self.spread)
                if topic not in self.topics:
                    write_topic(self.servers, topic, read_events(data), PARTITIONS)
                    self.topics.add(topic)
                make_topics(self.servers, output)
                shutil.copy(data / "side.jsonl", place)

            def check() -> tuple[int, ...]:
                return (self._compare(f"{SYSTEMS[name].title}, {query}", query, output, data, Path(place)),)

            key = (case_name(query, spread=self.spread), name, events, number)
            self.runs.measure(key, command, self.limit, prepare, check)

    def _compare(self, who: str, query: str, output: str, data: Path, folder: Path) -> int:
        """Compare what was committed with what the oracle finds, and return how many rows that are."""
        results = folder / "results"
        results.mkdir()
        with (results / "part-1.json").open("wb") as file:
            file.writelines(row + b"\n" for row in final_rows(consumed(self.servers, output), KEYS.get(query, ())))
        with Oracle(data) as oracle:
            comparison = oracle.compare(query, results)
        if not comparison.equal:
            sys.exit(f"{who}: {comparison}")
        return comparison.rows


def case_name(query: str, *, spread: bool) -> str:
    """Return the name of a query's runs."""
    return f"{query}-spread" if spread else query


def events_folder(events: int, *, spread: bool) -> Path:
    """Return the folder of so many events."""
    return FOLDER / case_name(f"nexmark-{events}", spread=spread)


def write_events(folder: Path, events: int, *, spread: bool) -> None:
    """Write events into files, one for each partition, unless they are there."""
    if folder.exists():
        return
    lines = make(events=events, seed=1, rate=RATE, start=START, disorder=DISORDER, spread=spread)
    work = Path(tempfile.mkdtemp(dir=FOLDER))
    write_files(work, lines, PARTITIONS)
    work.rename(folder)


def read_events(folder: Path) -> Iterator[bytes]:
    """Yield the events in their order: files have them in turns."""
    with ExitStack() as opened:
        files = [
            opened.enter_context((folder / "events" / f"{number}.jsonl").open("rb")) for number in range(PARTITIONS)
        ]
        for line in itertools.chain.from_iterable(itertools.zip_longest(*files)):
            if line is not None:
                yield line.rstrip(b"\n")


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


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks nexmark", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each, of which the medians are printed")
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=[*QUERIES])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds that a run may take")
    parser.add_argument("--spread", action="store_true", help="bids of anybody on anything: a key of q18 for each bid")
    parser.add_argument("--fresh", action="store_true", help="put aside what was measured before")
    options = parser.parse_args(arguments)
    runs = Runs("nexmark", fresh=options.fresh)
    classes(kafka_jars(default_cache(), FLINK / "pom.xml"))
    with Broker(kafka_jars(default_cache())) as broker:
        bench = Bench(broker.bootstrap_servers, runs, options.limit, options.spread)
        titles = ("events per CPU second, warm", *(SYSTEMS[name].title for name in options.systems))
        for query in options.queries:
            case = case_name(query, spread=options.spread)
            for number, name in itertools.product(range(options.rounds), options.systems):
                for events in (options.events // PART, options.events):
                    if query not in SYSTEMS[name].missing and not runs.late(case, name, events):
                        bench.run(name, query, events, number)
        print("".join(f"{title:<28}" for title in titles))
        for query in options.queries:
            _print(runs, query, case_name(query, spread=options.spread), options.systems, options.events)


def _print(runs: Runs, query: str, case: str, systems: Sequence[str], events: int) -> None:
    """Print a line: the rate of each system, and how many times as much ours is."""
    figures = {name: runs.figures(case, name, events) for name in systems}
    ours = figures.get(OURS)
    cells = []
    for name, found in figures.items():
        if query in SYSTEMS[name].missing:
            cells.append("-")
        elif found is None or runs.late(case, name, events):
            cells.append("not in time")
        else:
            cells.append(cell(found.warm, ours and ours.warm))
    print("".join(f"{each:<28}" for each in (case, *cells)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
