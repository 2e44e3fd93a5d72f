"""The flights example with its results in tables of PostgreSQL: windows are inserted, totals replace each other."""

from pathlib import Path

import duckdb
import yaml

from support import crashes, flights
from support.postgresql import PASSWORD, USER, Database

SECRET = {"STREAMAPP_SECRET_RESULTS_USERNAME": USER, "STREAMAPP_SECRET_RESULTS_PASSWORD": PASSWORD}
TOTALS = "SELECT carrier, flights, known_planes, miles, mean_delay, earliest, latest FROM public.totals"


def lay_out(folder: Path, rows: int, database: Database, processors: int = 2) -> None:
    """Write the example with the first rows of each airport, short commits, and tables for outputs."""
    crashes.lay_out(folder, rows, processors)
    document = yaml.safe_load((folder / "app.yaml").read_text())
    document["spec"]["systems"]["results"] = {"postgresql": {"uri": database.uri, "secretName": "results"}}
    document["spec"]["streams"] |= {
        "hourly": {"system": "results", "name": "public.hourly"},
        "totals": {"system": "results", "key": "carrier"},
    }
    (folder / "app.yaml").write_text(yaml.safe_dump(document))


def check(folder: Path, database: Database) -> None:
    """Compare the tables with what DuckDB finds; nothing may be left over."""
    with duckdb.connect() as engine:
        engine.execute(flights.INPUT.format(data=folder / "data"))
        expected = sorted(engine.execute(flights.HOURLY).fetchall())
        totals = {row[0]: row for row in engine.execute(flights.TOTALS).fetchall()}
    windows = flights.WRITTEN_HOURLY.format(rows="hourly").replace("::TIMESTAMP", " AT TIME ZONE 'UTC'")
    last = {row[:1]: row for row in database.query(TOTALS)}
    flights.compare(sorted(database.query(windows)), expected, totals, last)
    assert database.staged() == 0
