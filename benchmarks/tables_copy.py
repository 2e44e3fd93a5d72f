"""A copy of rows from files to files or a table: `python -m benchmarks.tables_copy INPUT-OUTPUT FOLDER`.

One processor in a thread of this process, exactly once, a commit each second; prints the CPU seconds since its start.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from tools.postgresql import PASSWORD, USER

from benchmarks.measured import Measured, arguments
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.hosts.launched_processor import collect_garbage_rarely
from streamapp_runtime.processor.driver_channel import DriverChannel

COLUMNS = "sensor string, reading bigint, level double, checked boolean, at timestamp, site string"
PARQUET = "parquet"
POSTGRESQL = "STREAMAPP_BENCHMARK_POSTGRESQL"
"""The variable of the environment that has the address of a database."""
LOGIN = {"STREAMAPP_SECRET_DB_USERNAME": USER, "STREAMAPP_SECRET_DB_PASSWORD": PASSWORD}
INPUTS = (PARQUET, "csv", "json")


@dataclass(frozen=True, slots=True)
class Output:
    """A kind of output: the system, the stream in it, and how its rows are counted in the folder of a run."""

    system: Mapping[str, Any]
    stream: Mapping[str, Any]
    count: Callable[[Path], int]


def _of_files(name: str) -> Output:
    return Output(
        system={"file": {"path": "."}},
        stream={"name": "out", "format": name},
        count=lambda folder: duckdb.sql(f"FROM '{folder}/out/**/part-*.{name}'").aggregate("count(*)").fetchall()[0][0],
    )


def _count_iceberg(folder: Path) -> int:
    return SqlCatalog("default", uri=f"sqlite:///{folder}/catalog.db").load_table("copied.rows").scan().count()


def _count_postgresql(folder: Path) -> int:  # noqa: ARG001 - it is in no folder
    """Count the rows, and drop the table: the next copy makes it anew."""
    with psycopg.connect(os.environ[POSTGRESQL], user=USER, password=PASSWORD) as connection:
        found = connection.execute("SELECT count(*) FROM copied").fetchone()
        connection.execute("DROP TABLE copied")
    return 0 if found is None else int(found[0])


OUTPUTS = {name: _of_files(name) for name in INPUTS} | {
    "delta": Output(
        system={"delta": {"path": ".", "commitEvery": "1s"}},
        stream={"name": "out"},
        count=lambda folder: DeltaTable(folder / "out").to_pyarrow_dataset().count_rows(),
    ),
    "iceberg": Output(
        system={"iceberg": {"catalog": {"uri": "sqlite:///catalog.db"}, "path": "warehouse", "commitEvery": "1s"}},
        stream={"name": "copied.rows"},
        count=_count_iceberg,
    ),
    "postgresql": Output(
        system={"postgresql": {"uri": os.environ.get(POSTGRESQL, "postgresql://localhost/none"), "secretName": "db"}},
        stream={"name": "copied"},
        count=_count_postgresql,
    ),
}


def copy(read: str, written: str, folder: Path) -> float:
    """Copy the rows of a folder to its end; return the CPU seconds from the processor's start on."""
    output, began = OUTPUTS[written], [0.0]
    app = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "copy"},
        "spec": {
            "systems": {"files": {"file": {"path": "."}}, "written": output.system, "log": {"log": {"path": "log.db"}}},
            "defaultSystem": "log",
            "streams": {
                "rows": {"system": "files", "format": read, "schema": COLUMNS},
                "copied": {"system": "written", **output.stream},
            },
            "operators": [{"name": "sent", "from": "rows", "sendTo": "copied"}],
            "job": {"commitInterval": "1s"},
        },
    }

    def start(channel: DriverChannel, *_: object) -> InProcessHost:
        began[0] = time.process_time()
        return InProcessHost(channel)

    request = RunRequest(text=json.dumps(app), folder=folder, state=folder / "state", fresh=True, run_id="r1")
    run_app(request, start, lambda _: None)
    return time.process_time() - began[0]


def main() -> None:
    collect_garbage_rarely()
    way, folder = arguments()
    read, written = way.split("-")
    Measured(seconds=copy(read, written, Path(folder)), steady=None).print()


if __name__ == "__main__":
    main()
