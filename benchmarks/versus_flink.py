"""StreamApp beside Flink and Structured Streaming on one broker, with one input (see docs/performance.md).

Each run is a process of its own in an empty folder, the systems take turns, and all must find the same. What was
measured is kept in `build/benchmarks`: a call makes the runs that are missing there, and prints the medians of all.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.flink_sql import HERE as FLINK
from benchmarks.flink_sql import classes
from benchmarks.kafka_load import KEYS, fill, make_topics, topics
from benchmarks.kafka_results import totals
from benchmarks.kafka_spark import POM
from benchmarks.runs import PART, Run, Runs, cell

ROWS, ROUNDS = 8_000_000, 3
LIMIT_SECONDS = 600.0
OURS = "streamapp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case: one row of so many is read, since joins of streams take minutes elsewhere."""

    title: str
    share: int = 1


CASES: Mapping[str, Case] = {
    "count": Case(title="keyed count, input already partitioned by the key"),
    "shuffle": Case(title="keyed count with a repartition"),
    "join": Case(title="table join, one output a row"),
    "windows": Case(title="windowed count by event time: a minute, by sensor", share=2),
    "pairs": Case(title="join of two streams, 10 s apart at most", share=4),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system: its module and arguments, and the cases that it has; the slow ones get one row of so many.

    The others divide rows by their keys themselves, so that the first two cases are one for them.
    """

    title: str
    command: tuple[str, ...]
    cases: frozenset[str] = field(default=frozenset(CASES))
    share: int = 1

    def case(self, name: str) -> str:
        """Return the case that is run for another one."""
        return "count" if name == "shuffle" and self.command != ("kafka_ours",) else name


SYSTEMS: Mapping[str, System] = {
    OURS: System(title="StreamApp", command=("kafka_ours",)),
    "flink-heap": System(title="Flink, heap", command=("kafka_flink", "heap")),
    # The table join has no state.
    "flink-rocksdb": System(
        title="Flink, RocksDB", command=("kafka_flink", "rocksdb"), cases=frozenset(CASES) - {"join"}
    ),
    "spark": System(title="Spark, JVM, RocksDB", command=("kafka_spark", "jvm")),
    "spark-rows": System(
        title="Spark, transformWithState (rows)",
        command=("kafka_spark", "rows"),
        cases=frozenset({"count"}),
        share=40,
    ),
    "spark-pandas": System(
        title="Spark, transformWithStateInPandas",
        command=("kafka_spark", "pandas"),
        cases=frozenset({"count"}),
        share=800,
    ),
    "quix": System(
        title="Quix Streams, 2 processes", command=("kafka_quix_runs",), cases=frozenset({"count"}), share=40
    ),
}
USUAL = (OURS, "flink-heap", "flink-rocksdb", "spark")


@dataclass(slots=True)
class Bench:
    """A broker, its topics, and what is known."""

    servers: str
    runs: Runs
    filled: set[str] = field(default_factory=set)
    outputs: int = 0

    def run(self, name: str, case: str, rows: int, number: int) -> Run:
        """Return the run of a system on a case, of so many rows; it is made if it is not known."""
        system = SYSTEMS[name]
        self.outputs += 1
        output = f"out-{case}-{self.outputs}"

        with tempfile.TemporaryDirectory() as folder:
            module, *form = system.command
            command = (
                sys.executable,
                "-m",
                f"benchmarks.{module}",
                *form,
                case,
                folder,
                self.servers,
                str(rows),
                output,
            )

            def prepare() -> None:
                self._fill(case, rows)
                make_topics(self.servers, output)
                if case == "join":
                    _write_places(Path(folder))

            def check() -> tuple[int, ...]:
                return totals(self.servers, output, replaced=case in {"count", "shuffle"})

            return self.runs.measure((case, name, rows, number), command, LIMIT_SECONDS, prepare, check)

    def _fill(self, case: str, rows: int) -> None:
        topics_ = topics(case, rows)
        for seed, topic in enumerate(topics_.values()):
            if topic not in self.filled:
                fill(self.servers, topic, rows // len(topics_), 17 + seed)
                self.filled.add(topic)


def _write_places(folder: Path) -> None:
    """Write the table of the table join: as Parquet, and as a text for Flink."""
    sensors = [f"sensor-{number:06d}" for number in range(KEYS)]
    floors = [number % 9 for number in range(KEYS)]
    rooms = [f"room {number % 77}" for number in range(KEYS)]
    (folder / "places").mkdir()
    table = pa.table({"sensor": sensors, "floor": pa.array(floors, pa.int32()), "room": rooms})
    pq.write_table(table, folder / "places" / "places.parquet")
    lines = (f"{sensor}\t{floor}\t{room}\n" for sensor, floor, room in zip(sensors, floors, rooms, strict=True))
    (folder / "places.tsv").write_text("".join(lines), encoding="utf-8")


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks versus_flink", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the largest case")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each, of which the medians are printed")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*USUAL])
    parser.add_argument("--fresh", action="store_true", help="put aside what was measured before")
    options = parser.parse_args(arguments)
    runs = Runs("versus_flink", fresh=options.fresh)
    kafka_jars(default_cache(), POM)
    classes(kafka_jars(default_cache(), FLINK / "pom.xml"))
    with Broker(kafka_jars(default_cache())) as broker:
        bench = Bench(broker.bootstrap_servers, runs)
        for case in options.cases:
            systems = [name for name in options.systems if case in SYSTEMS[name].cases]
            for number in range(options.rounds):
                for name in systems:
                    _take_turn(bench, name, case, options.rows, number)
            _print(runs, case, systems, options.rows)


def _take_turn(bench: Bench, name: str, case: str, most: int, number: int) -> None:
    """Run a system on all rows and on a part of them, unless it was too late before."""
    system, rows = SYSTEMS[name], _rows(name, case, most)
    if bench.runs.late(system.case(case), name, rows):
        return
    for some in (rows // PART, rows):
        run = bench.run(name, system.case(case), some, number)
        right = bench.runs.of(system.case(case), some)
        wrong = [other for other in right if other.found and run.found and other.found != run.found]
        if wrong:
            sys.exit(f"{case}, {some:,} rows: {run.system} found {run.found}, {wrong[0].system} {wrong[0].found}")
        if run.found and case != "pairs" and run.found[1] != some:
            sys.exit(f"{case}, {some:,} rows: {run.system} found {run.found[1]:,} of them")


def _rows(name: str, case: str, most: int) -> int:
    return most // CASES[case].share // SYSTEMS[name].share


def _print(runs: Runs, case: str, systems: Sequence[str], most: int) -> None:
    """Print the medians of a case, and how many times as much ours are."""
    print(f"{CASES[case].title}; {most // CASES[case].share:,} rows")
    print(f"  {'':<36}{'rows/s, steady':>20}{'rows/CPU s':>20}{'without start-up':>20}{'rounds':>8}")
    figures = {name: runs.figures(SYSTEMS[name].case(case), name, _rows(name, case, most)) for name in systems}
    ours = figures.get(OURS)
    for name, found in figures.items():
        title = f"  {SYSTEMS[name].title:<36}"
        if found is None:
            print(f"{title} did not finish {_rows(name, case, most):,} rows in {LIMIT_SECONDS:.0f} s")
            continue
        cells = [
            cell(found.steady, ours and ours.steady),
            cell(found.whole, ours and ours.whole),
            cell(found.warm, ours and ours.warm),
        ]
        print(title + "".join(f"{each:>20}" for each in cells) + f"{found.rounds:>8}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
