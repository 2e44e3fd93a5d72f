"""An app whose results are in tables of a real PostgreSQL, killed and cut off from it, gets the same tables."""

import os
import signal
import subprocess
from decimal import Decimal
from random import Random

import pytest
import yaml

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support import apps, crashes, database_runs
from support.database_runs import check, lay_out
from support.waiting import eventually
from unit.docs import pages

KILLS = int(os.environ.get("STREAMAPP_KILL_RUNS", "5"))
STEPS = [FailPoint.COMMIT_STAGE, FailPoint.COMMIT_TRANSACTION, FailPoint.COMMIT_PUBLISH, FailPoint.RUN_FINISH]


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    for name, value in database_runs.SECRET.items():
        monkeypatch.setenv(name, value)


def end(folder):
    code, output = crashes.end(crashes.start(folder, "--host", "in-process"))
    assert code == 0, output
    return output


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_died_at_a_step_goes_on_to_the_same_tables(tmp_path, database, step, moment):
    lay_out(tmp_path, 3_000, database)
    setting = f"{step}:{moment}:{1 if step is FailPoint.RUN_FINISH else 3}"
    died, output = crashes.end(crashes.start(tmp_path, "--host", "in-process", **{VARIABLE: setting}))
    assert died == -signal.SIGKILL, output
    end(tmp_path)
    check(tmp_path, database)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_run_killed_at_any_moment_ends_with_the_same_tables(tmp_path, database, seed):
    lay_out(tmp_path, 10_000, database)
    crashes.run_with_kills(tmp_path, Random(seed), [3.0] * 3)
    check(tmp_path, database)


def test_a_run_waits_while_the_database_is_away(tmp_path, postgresql, database):
    lay_out(tmp_path, 10_000, database)
    process = crashes.start(tmp_path, "--host", "processes")
    there = "SELECT count(*) FROM pg_tables WHERE tablename = 'totals'"
    assert eventually(lambda: database.query(there)[0][0] and database.query("SELECT count(*) FROM totals")[0][0])
    postgresql.stop()
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
    finally:
        postgresql.start()
    code, output = crashes.end(process)
    assert code == 0, output
    check(tmp_path, database)


def test_a_new_run_keeps_the_tables_and_drops_what_was_staged(tmp_path, database):
    lay_out(tmp_path, 1_000, database)
    setting = f"{FailPoint.COMMIT_PUBLISH}:{Moment.BEFORE}:2"
    died, output = crashes.end(crashes.start(tmp_path, "--host", "in-process", **{VARIABLE: setting}))
    assert died == -signal.SIGKILL, output
    database.query("DELETE FROM hourly")
    code, output = crashes.end(crashes.start(tmp_path, "--host", "in-process", "--fresh"))
    assert code == 0, output
    check(tmp_path, database)


def test_the_example_of_the_page_runs(tmp_path, database, monkeypatch):
    (text,) = (block.text for block in pages.fences(pages.read("postgresql.md")) if block.name == "app.yaml")
    document = yaml.safe_load(text)
    document["spec"]["systems"]["shop"]["postgresql"]["uri"] = database.uri
    for name, value in database_runs.SECRET.items():
        monkeypatch.setenv(name.replace("_RESULTS_", "_SHOP_LOGIN_"), value)
    (tmp_path / "landing" / "orders").mkdir(parents=True)

    def publish(name, *lines):
        (tmp_path / "landing" / "orders" / ".next").write_text("\n".join(["id,shop,amount", *lines, ""]))
        (tmp_path / "landing" / "orders" / ".next").rename(tmp_path / "landing" / "orders" / name)

    def totals():
        there = database.query("SELECT count(*) FROM pg_tables WHERE tablename = 'totals'") == [(1,)]
        return database.query("SELECT * FROM totals ORDER BY shop") if there else []

    publish("1.csv", "1,a,10.00", "2,b,1000.01", "3,a,5.50")
    apps.run_until(tmp_path, document, lambda: totals() == [("a", 2, Decimal("15.50")), ("b", 1, Decimal("1000.01"))])
    publish("2.csv", "4,b,1.00")
    apps.run_until(tmp_path, document, lambda: totals() == [("a", 2, Decimal("15.50")), ("b", 2, Decimal("1001.01"))])
    assert database.query("SELECT * FROM large_orders") == [(2, "b", Decimal("1000.01"))]


def test_a_table_that_does_not_fit_is_refused_by_plan_and_run(tmp_path, database):
    lay_out(tmp_path, 10, database)
    database.query("CREATE TABLE totals (carrier text, flights int)")
    code, output = crashes.end(crashes.start(tmp_path, "--host", "in-process"))
    assert code == 1, output
    assert "spec.streams.totals" in output
    assert "rows of `totals` can't be written to table `totals`: its column `flights` is integer" in output
    assert 'CREATE UNIQUE INDEX ON "public"."totals" ("carrier") NULLS NOT DISTINCT' in output
