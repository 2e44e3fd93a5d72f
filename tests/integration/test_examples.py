"""The smaller examples: every row they find is DuckDB's from the same files."""

import shutil
import signal
from collections import Counter
from pathlib import Path

import duckdb
import yaml

from streamapp_runtime.fail_points import VARIABLE
from support import apps, crashes
from support.flights import IN_WEATHER, LATE

EXAMPLES = Path(__file__).parents[2] / "examples"

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
LATE_DAYS = """
SELECT carrier, date_trunc('day', scheduled)::TIMESTAMP AS day, day + INTERVAL 1 DAY,
       count(*), max(dep_delay), sum(distance)::BIGINT
FROM late GROUP BY carrier, day
"""

LATEST_CUSTOMERS = """
WITH changes AS (SELECT *, row_number() OVER () AS n FROM read_csv('{data}/../../cdc/changes/*.csv')),
     customers AS (SELECT * FROM changes QUALIFY n = max(n) OVER (PARTITION BY id) AND op <> 'd')
SELECT number, customer, amount::DECIMAL(10, 2), name, city
FROM read_csv('{data}/../../cdc/orders/*.csv') LEFT JOIN customers ON id = customer
"""


def run(name, folder):
    """Run an example in a folder of its own and give its summary and the folder of its results."""
    lay_out(name, folder)
    document = yaml.safe_load((EXAMPLES / name / "app.yaml").read_text())
    return apps.run(document, folder / name), folder / name / "out"


def lay_out(name, folder):
    (folder / "flights").mkdir()
    (folder / "flights" / "data").symlink_to(EXAMPLES / "flights" / "data")
    shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("out", ".streamapp"))


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


def test_orders_find_the_customers_that_changes_have_left(tmp_path):
    _, out = run("cdc", tmp_path)
    compared(out, 60, LATEST_CUSTOMERS)


def test_two_apps_with_a_stream_between_them_find_the_late_days_though_both_die(tmp_path):
    """The one that reads comes first, follows the other, and ends with it."""
    lay_out("split", tmp_path)

    def start(app, **environment):
        return crashes.start(tmp_path / "split", "--host", "in-process", app=app, **environment)

    running = {app: start(app, **{VARIABLE: "commit-3:after:2"}) for app in ("days.yaml", "late.yaml")}
    for app in ("late.yaml", "days.yaml"):
        died, output = crashes.end(running[app])
        assert died == -signal.SIGKILL, output
        running[app] = start(app)
    for process in running.values():
        code, output = crashes.end(process)
        assert code == 0, output
    compared(tmp_path / "split" / "out", 3_425, LATE, LATE_DAYS)
