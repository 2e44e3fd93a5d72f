"""StreamApp against Spark's Structured Streaming: the flights example and a keyed count (see docs/performance.md).

Each run is a process of its own in an empty folder; the systems take turns. Both must find the same results.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.measured import Measured
from benchmarks.streaming_data import ROWS, make_readings

REPETITIONS = 3
_LOOK_SECONDS = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
FLIGHTS = Path(__file__).parents[1] / "examples" / "flights" / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case to run: `data` is linked into the folder of each run; `results` are queries over its output folder."""

    name: str
    title: str
    rows: int
    data: Path
    results: tuple[str, ...]
    variants: tuple[str, ...] = ("",)


@dataclass(slots=True)
class Side:
    """One system on one case, and what its runs took."""

    title: str
    module: str
    argument: str
    whole: list[float] = field(default_factory=list)
    processor_time: list[float] = field(default_factory=list)
    runs: list[Measured] = field(default_factory=list)

    def run(self, case: Case, folder: Path) -> list[list[tuple[object, ...]]]:
        """Run once in an empty folder and give the results."""
        (folder / case.data.name).symlink_to(case.data)
        command = [sys.executable, "-m", f"benchmarks.{self.module}", self.argument, str(folder)]
        began = time.monotonic()
        output, processor_time = watched(command)
        self.whole.append(time.monotonic() - began)
        self.processor_time.append(processor_time)
        self.runs.append(Measured.parse(output))
        with duckdb.connect() as database:
            return [database.execute(query.format(out=folder / "out")).fetchall() for query in case.results]

    def figures(self, case: Case) -> tuple[float | None, ...]:
        """Return medians: rows a second of the whole process, without start-up, and steady; and rows a CPU second."""
        steady = [run.steady for run in self.runs if run.steady is not None]
        return (
            case.rows / median(self.whole),
            case.rows / median(run.seconds for run in self.runs),
            median(steady) if steady else None,
            case.rows / median(self.processor_time),
        )


COUNTS = """
SELECT sensor, max(readings), arg_max(total, readings) FROM read_parquet('{out}/counts/**/part-*.parquet')
GROUP BY ALL ORDER BY ALL
"""
HOURLY = """
SELECT carrier, window_start::TIMESTAMP, flights, late, worst_delay, seats
FROM read_csv('{out}/hourly/**/part-*.csv') ORDER BY ALL
"""
TOTALS = """
SELECT carrier, max(flights), arg_max(known_planes, flights), arg_max(miles, flights)
FROM read_csv('{out}/totals/**/part-*.csv') GROUP BY ALL ORDER BY ALL
"""


def compare(case: Case) -> None:
    """Run a case several times on all systems and print what they took."""
    sides = [Side("StreamApp", "ours", case.name)]
    for variant in case.variants:
        title = f"Structured Streaming{variant.replace('-', ', ')}"
        sides.append(Side(title, "structured_streaming", case.name + variant))
    for _ in range(REPETITIONS):
        found = []
        for side in sides:
            with tempfile.TemporaryDirectory() as folder:
                found.append(side.run(case, Path(folder)))
        assert all(found[0]), "no results"
        assert all(other == found[0] for other in found), "the systems disagree"
    _print(case, sides)


def watched(command: list[str], limit: float = math.inf) -> tuple[str, float]:
    """Run a command; give what it printed, and the CPU seconds of its session, which a busy machine does not change.

    Raises:
        TimeoutError: it has not ended after `limit` seconds; it is killed.
    """
    seconds: dict[str, float] = {}
    deadline = time.monotonic() + limit
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True) as process,  # noqa: S603
    ):
        try:
            while process.poll() is None:
                seconds |= _cpu_seconds(process.pid)
                time.sleep(_LOOK_SECONDS)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not finished in {limit:g} s")
        finally:
            for left in _cpu_seconds(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(int(left), signal.SIGKILL)
        output.seek(0)
        printed = output.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{printed}")
    return printed, sum(seconds.values())


def _cpu_seconds(session: int) -> dict[str, float]:
    """Read the CPU seconds of each living process of a session (`man 5 proc_pid_stat`, from field 3 on)."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            values = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(values[3]) == session:
                found[stat.parent.name] = (int(values[11]) + int(values[12])) / _TICKS
    return found


def _print(case: Case, sides: list[Side]) -> None:
    print(f"{case.title}; rows/s, medians of {REPETITIONS}, and how many times as many StreamApp does")
    print(f"  {'':<32}{'whole process':>20}{'without start-up':>20}{'steady':>20}{'per CPU second':>20}")
    ours = sides[0].figures(case)
    for side in sides:
        cells = [_cell(rate, best) for rate, best in zip(side.figures(case), ours, strict=True)]
        print(f"  {side.title:<32}" + "".join(f"{cell:>20}" for cell in cells))


def _cell(rate: float | None, ours: float | None) -> str:
    if rate is None or ours is None:
        return "-"
    return f"{rate:,.0f}" + (f" ({ours / rate:.1f}x)" if rate != ours else "")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        readings = Path(folder) / "readings"
        make_readings(readings)
        compare(
            Case(
                name="count",
                title=f"keyed count of {ROWS:,} rows",
                rows=ROWS,
                data=readings,
                results=(COUNTS,),
                variants=("", "-rocksdb"),
            )
        )
    flights = Case(name="flights", title="flights, 336,776 rows", rows=336_776, data=FLIGHTS, results=(HOURLY, TOTALS))
    compare(flights)


if __name__ == "__main__":
    main()
