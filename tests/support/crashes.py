"""Runs of an app in a process of its own, which is made to die, and what must be true when it has come to its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import duckdb
import yaml
from deltalake import DeltaTable

from support import apps, flights
from support.forked_runs import ForkedRun

RUN = [sys.executable, "-c", "from streamapp_cli.main import main; main()", "run"]


def lay_out(folder: Path, rows: int, processors: int = 2, *, table: bool = False) -> None:
    """Write the flights example with the first rows of each airport and short commits.

    With `table` its windows go to a table of Delta, whose commits have the rows of several commits of the app.
    """
    (folder / "data" / "flights").mkdir(parents=True)
    (folder / "data" / "planes.csv").write_bytes((flights.EXAMPLE / "data" / "planes.csv").read_bytes())
    for source in (flights.EXAMPLE / "data" / "flights").iterdir():
        with source.open() as lines:
            kept = [next(lines) for _ in range(rows + 1)]
        (folder / "data" / "flights" / source.name).write_text("".join(kept))
    document = yaml.safe_load((flights.EXAMPLE / "app.yaml").read_text())
    document["spec"]["processors"]["count"] = processors
    document["spec"]["job"] |= {"commitInterval": "50ms", "watermarkInterval": "1ms"}
    if table:
        document["spec"]["systems"]["lake"] = {"delta": {"path": "out", "commitEvery": "300ms"}}
        document["spec"]["streams"]["hourly"] = {"system": "lake", "folderColumns": ["carrier"]}
    (folder / "app.yaml").write_text(yaml.safe_dump(document))


def start(
    folder: Path, *options: str, app: str = "app.yaml", through: Sequence[str] = (), **environment: str
) -> subprocess.Popen | ForkedRun:
    """Start an app in a process group of its own, perhaps through another command."""
    environment = os.environ | environment
    if not through:
        return ForkedRun(["run", str(folder / app), *options], environment)
    return subprocess.Popen(
        [*through, *RUN, str(folder / app), *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen | ForkedRun) -> tuple[int, str]:
    """Wait for the end of a run; its exit code and what it printed."""
    output, _ = process.communicate(timeout=400)
    return process.returncode, output


def kill_group(process: subprocess.Popen | ForkedRun) -> None:
    """Kill a run with all its children, if it is still there."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run_with_kills(folder: Path, random: Random, longest: Iterable[float], *, zombies: bool = False) -> int:
    """Start an app, kill it within so many seconds each time, and let it end; tell how often it was killed.

    With `zombies` its driver alone is killed, and the processes of its processors go on until they notice.
    """
    host, killed = "processes" if zombies else "in-process", []
    for seconds in longest:
        process = start(folder, "--host", host)
        try:
            process.wait(timeout=random.uniform(0.5, seconds))
        except subprocess.TimeoutExpired:
            killed.append(process)
            if zombies:
                process.kill()
                process.wait(timeout=apps.DEADLINE)
            else:
                kill_group(process)
        else:
            end(process)
    code, output = end(start(folder, "--host", host))
    for process in killed if zombies else ():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert code == 0, output
    return len(killed)


def check(folder: Path) -> None:
    """Compare the windows row for row and the last totals of each carrier with DuckDB's; nothing may be left over."""
    with duckdb.connect() as database:
        database.execute(flights.INPUT.format(data=folder / "data"))
        expected = sorted(database.execute(flights.HOURLY).fetchall())
        found = sorted(database.execute(flights.WRITTEN_HOURLY.format(rows=_written(folder, database))).fetchall())
        totals = {row[0]: row for row in database.execute(flights.TOTALS).fetchall()}
    flights.compare(found, expected, totals, apps.last_per_key(folder / "out" / "totals", 1))
    leftovers = [path for path in (folder / "out").rglob("*") if ".staging" in path.parts and path.is_file()]
    assert not leftovers


def _written(folder: Path, database: duckdb.DuckDBPyConnection) -> str:
    """Name the windows that were written, in files or in a table, as DuckDB finds them."""
    hourly = folder / "out" / "hourly"
    if not DeltaTable.is_deltatable(str(hourly)):
        return f"read_csv('{hourly}/part-*.csv')"
    database.execute("SET TimeZone = 'UTC'")
    database.register("hourly", DeltaTable(hourly).to_pyarrow_table())
    return "hourly"
