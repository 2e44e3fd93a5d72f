"""The flights example: run with other settings, and its results compared with DuckDB's from the same CSV files."""

import shutil
from pathlib import Path

import duckdb
import pytest
import yaml

from support import apps

EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"

INPUT = """
CREATE VIEW flown AS
SELECT flights.*, planes.seats
FROM read_csv('{data}/flights/*.csv', nullstr = 'NA',
              types = {{'dep_delay': 'DOUBLE', 'scheduled': 'TIMESTAMP'}}) AS flights
LEFT JOIN read_csv('{data}/planes.csv', nullstr = 'NA') AS planes USING (tailnum)
WHERE dep_delay IS NOT NULL
"""
HOURLY = """
SELECT carrier, date_trunc('hour', scheduled), date_trunc('hour', scheduled) + INTERVAL 1 HOUR,
       count(*), count(*) FILTER (dep_delay > 15), avg(dep_delay), max(dep_delay), sum(seats)::BIGINT
FROM flown GROUP BY ALL
"""
TOTALS = """
SELECT carrier, count(*), count(seats), sum(distance)::BIGINT, avg(dep_delay), min(dep_delay), max(dep_delay)
FROM flown GROUP BY ALL
"""
LATE = """
CREATE VIEW late AS
SELECT * FROM read_csv('{data}/flights/*.csv', nullstr = 'NA',
                       types = {{'dep_delay': 'DOUBLE', 'scheduled': 'TIMESTAMP'}})
WHERE dep_delay > 60
"""
IN_WEATHER = """
SELECT scheduled, carrier, flight, late.origin, dep_delay, observed, temp, wind_speed, precip, visib
FROM late LEFT JOIN read_csv('{data}/weather/*.csv', nullstr = 'NA', types = {{'observed': 'TIMESTAMP'}}) AS weather
  ON late.origin = weather.origin AND abs(epoch_ms(observed) - epoch_ms(scheduled)) <= 30 * 60000
"""
LATE_COLUMNS = (
    "scheduled",
    "carrier",
    "flight",
    "origin",
    "dep_delay",
    "observed",
    "temp",
    "wind_speed",
    "precip",
    "visib",
)
WRITTEN_HOURLY = """
SELECT carrier, window_start::TIMESTAMP, window_end::TIMESTAMP, flights, late, mean_delay, worst_delay, seats
FROM {rows}
"""


def run(folder: Path, processors: int, make_host=apps.in_process):
    """Run the example in a folder of its own with so many processors."""
    shutil.copytree(EXAMPLE / "data", folder / "data")
    document = yaml.safe_load((EXAMPLE / "app.yaml").read_text())
    document["spec"]["processors"]["count"] = processors
    return apps.run(document, folder, make_host)


def check(folder: Path, summary) -> None:
    """Compare every window and the last totals of every carrier; nothing may be late or left out."""
    with duckdb.connect() as database:
        database.execute(INPUT.format(data=folder / "data"))
        expected = sorted(database.execute(HOURLY).fetchall())
        rows = f"read_csv('{folder / 'out' / 'hourly'}/part-*.csv')"
        found = sorted(database.execute(WRITTEN_HOURLY.format(rows=rows)).fetchall())
        totals = {row[0]: row for row in database.execute(TOTALS).fetchall()}
    assert len(expected) > 50_000
    compare(found, expected, totals, apps.last_per_key(folder / "out" / "totals", 1))
    assert summary.not_used == {}
    assert summary.written["hourly"] == len(expected)


def compare(found, expected, totals, last) -> None:
    """Compare windows row for row, and the last totals of every carrier; floats to 1e-9."""
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert row[:5] == other[:5]
        assert row[6:] == other[6:]
        assert row[5] == pytest.approx(other[5], rel=1e-9)
    assert {key for (key,) in last} == totals.keys()
    for (key,), row in last.items():
        assert [float(value) for value in row[1:]] == pytest.approx(totals[key][1:], rel=1e-9)
