"""The smaller examples: every row they find is DuckDB's from the same files."""

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import yaml

from support import apps

EXAMPLES = Path(__file__).parents[2] / "examples"

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
TROUBLES = """
WITH opened AS (
  SELECT *, coalesce(scheduled - lag(scheduled) OVER troubles > INTERVAL 2 HOUR, true)::INTEGER AS opens
  FROM late WINDOW troubles AS (PARTITION BY carrier, origin ORDER BY scheduled)
), numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY carrier, origin ORDER BY scheduled ROWS UNBOUNDED PRECEDING) AS session
  FROM opened
)
SELECT carrier, origin, min(scheduled), max(scheduled) + INTERVAL 2 HOUR,
       count(*), max(dep_delay), sum(distance)::BIGINT
FROM numbered GROUP BY carrier, origin, session
"""


def run(name, folder):
    """Run an example in a folder of its own and give its summary and the folder of its results."""
    (folder / "flights").mkdir()
    (folder / "flights" / "data").symlink_to(EXAMPLES / "flights" / "data")
    shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("out", ".streamapp"))
    document = yaml.safe_load((EXAMPLES / name / "app.yaml").read_text())
    return apps.run(document, folder / name), folder / name / "out"


def compared(folder, expected, *queries):
    """Compare the rows of an output with those of the last query."""
    data = EXAMPLES / "flights" / "data"
    with duckdb.connect() as database:
        for query in queries:
            result = database.execute(query.format(data=data))
        rows = result.fetchall()
        types = {column[0]: str(column[1]) for column in database.execute(queries[-1].format(data=data)).description}
        found = database.execute(
            f"SELECT * FROM read_csv('{folder}/part-*.csv', names = {list(types)}, types = {types}, header = true)"
        ).fetchall()
    assert len(rows) == expected
    assert Counter(found) == Counter(rows)


def test_late_flights_meet_the_weather_at_their_airport(tmp_path):
    summary, out = run("weather", tmp_path)
    assert summary.not_used == {}
    compared(out, 29_230, LATE, IN_WEATHER)


def test_the_troubled_times_of_airlines_are_their_sessions(tmp_path):
    summary, out = run("sessions", tmp_path)
    assert summary.not_used == {}
    compared(out, 10_213, LATE, TROUBLES)
