"""Files and tables as inputs and outputs: copies by one processor, rows per CPU second.

Every input is copied to Parquet, and every output from Parquet. Each copy is a process of its own, and the ways take
turns. The rows that came out are counted. Of a copy to PostgreSQL, where there is one, the server's own work is not.
"""

import os
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import duckdb
from tools.postgresql import PostgresServer, server_programs

from benchmarks.measured import Measured
from benchmarks.streaming import watched
from benchmarks.tables_copy import INPUTS, LOGIN, OUTPUTS, PARQUET, POSTGRESQL

ROWS = 1_000_000
REPETITIONS = 3
WAYS = [*((name, PARQUET) for name in INPUTS), *((PARQUET, name) for name in OUTPUTS if name != PARQUET)]
_ROWS = f"""
SELECT 'sensor-' || (i * 7919 % 100000) AS sensor, i AS reading, i / 7.0 AS level, i % 3 = 0 AS checked,
       TIMESTAMP '2024-05-01' + to_milliseconds(i) AS at, 'hall 4, third row from the window, second shelf' AS site
FROM range({ROWS}) AS numbers(i)
"""


def main() -> None:
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    programs = server_programs()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        make_inputs(Path(folder))
        if programs is not None:
            server = PostgresServer(programs)
            servers.callback(server.close)
            os.environ |= {POSTGRESQL: server.uri, **LOGIN}
        ways = [way for way in WAYS if way[1] != "postgresql" or programs is not None]
        for _ in range(REPETITIONS):
            for read, written in ways:
                rates[read, written].append(ROWS / _copy(Path(folder), read, written))
    print(f"rows per CPU second of a process, without its start; {ROWS:,} rows, medians of {REPETITIONS}")
    for (read, written), found in rates.items():
        print(f"  {read:>10} to {written:<10}{median(found):>12,.0f}")


def make_inputs(folder: Path) -> None:
    """Write the same rows in the format of each input."""
    with duckdb.connect() as database:
        for name in INPUTS:
            (folder / name).mkdir()
            target = folder / name / f"rows.{name}"
            database.execute(f"COPY ({_ROWS}) TO '{target}' (FORMAT {name})")


def _copy(inputs: Path, read: str, written: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rows").symlink_to(inputs / read)
        output, _ = watched([sys.executable, "-m", "benchmarks.tables_copy", f"{read}-{written}", folder])
        count = OUTPUTS[written].count(Path(folder))
    assert count == ROWS, f"{count} rows came out of {ROWS}"
    return Measured.parse(output).seconds


if __name__ == "__main__":
    main()
