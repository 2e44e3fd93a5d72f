"""The measured runs of a benchmark, a line of JSON each in `build/benchmarks`: interrupted ones go on from there."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.measured import Measured
from benchmarks.streaming import watched

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "benchmarks"
PART = 4
"""A short run has one row of so many: what both take differs by what the others take once a system is warm."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a system on a case, of so many rows. Without `cpu` and `seconds`: it had not ended in time."""

    case: str
    system: str
    rows: int
    round: int
    cpu: float | None = None
    """CPU seconds of all its processes."""
    seconds: float | None = None
    """Seconds without the start of its processes."""
    found: tuple[int, ...] = ()
    """The totals of its results."""
    load: float
    commit: str
    time: str

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Names the run: case, system, rows, round."""
        return self.case, self.system, self.rows, self.round


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Medians of a system on a case, in rows a second: of CPU, with the start and without it, and of time without it.

    Those without the start go by what all rows take beyond the first quarter of them; None: there is no such pair, or
    too few rows to tell.
    """

    whole: float | None
    warm: float | None
    steady: float | None
    rounds: int


class Runs:
    """The runs of one benchmark that are known."""

    def __init__(self, name: str, *, fresh: bool = False, folder: Path = FOLDER) -> None:
        """Read what earlier calls have measured; if `fresh`, put that aside."""
        self._file = folder / f"{name}.jsonl"
        self._commit = subprocess.run(
            ["git", "describe", "--always", "--dirty"],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        folder.mkdir(parents=True, exist_ok=True)
        if fresh and self._file.exists():
            self._file.rename(self._file.with_suffix(f".{datetime.now(UTC):%Y%m%dT%H%M%S}.jsonl"))
        lines = self._file.read_bytes().splitlines() if self._file.exists() else []
        self._runs = {run.key: run for run in (msgspec.json.decode(line, type=Run) for line in lines)}

    def measure(
        self,
        key: tuple[str, str, int, int],
        command: Sequence[str],
        limit: float,
        prepare: Callable[[], object],
        check: Callable[[], tuple[int, ...]],
    ) -> Run:
        """Return the run with a key, after having made it where it is not known.

        `prepare` makes what the run reads. `command` prints what it has measured, and has so many seconds; `check`
        reads its results then.
        """
        known = self._runs.get(key)
        if known is not None:
            return known
        case, system, rows, round_ = key
        prepare()
        began = time.monotonic()
        cpu, seconds, found = None, None, ()
        try:
            printed, cpu = watched([*command], limit)
        except TimeoutError:
            pass
        else:
            seconds, found = Measured.parse(printed).seconds, check()
        run = Run(
            case=case,
            system=system,
            rows=rows,
            round=round_,
            cpu=cpu,
            seconds=seconds,
            found=found,
            load=os.getloadavg()[0],
            commit=self._commit,
            time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}",
        )
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")
        self._runs[key] = run
        cost = "not in time" if cpu is None else f"{cpu:.1f} CPU s"
        taken = time.monotonic() - began
        print(f"  {case}, {system}, {rows:,} rows: {cost}, {taken:.0f} s with checks, load {run.load:.1f}", flush=True)
        return run

    def of(self, case: str, rows: int) -> list[Run]:
        """Return the runs of all systems on a case."""
        return [run for run in self._runs.values() if (run.case, run.rows) == (case, rows)]

    def late(self, case: str, system: str, rows: int) -> bool:
        """Return whether a run was not done in time: others would not be either."""
        return any(run.cpu is None for run in self._of(case, system, rows).values())

    def figures(self, case: str, system: str, rows: int) -> Figures | None:
        """Return the medians of a system on a case; None: there is no run that ended in time."""
        runs, parts = self._of(case, system, rows), self._of(case, system, rows // PART)
        cpu = [run.cpu for run in runs.values() if run.cpu is not None]
        if not cpu:
            return None
        both = [(runs[each], parts[each]) for each in runs.keys() & parts.keys()]
        more = rows - rows // PART
        warm = [run.cpu - part.cpu for run, part in both if run.cpu is not None and part.cpu is not None]
        steady = [
            run.seconds - part.seconds for run, part in both if run.seconds is not None and part.seconds is not None
        ]
        return Figures(whole=_rate(rows, cpu), warm=_rate(more, warm), steady=_rate(more, steady), rounds=len(cpu))

    def _of(self, case: str, system: str, rows: int) -> dict[int, Run]:
        return {run.round: run for run in self._runs.values() if run.key[:3] == (case, system, rows)}


def _rate(rows: int, seconds: Sequence[float]) -> float | None:
    return rows / median(seconds) if seconds and median(seconds) > 0 else None


def cell(rate: float | None, ours: float | None) -> str:
    """Write a rate, and how many times as much ours is."""
    if rate is None:
        return "-"
    return f"{rate:,.0f}" + (f" ({ours / rate:.1f}x)" if ours and rate != ours else "")
