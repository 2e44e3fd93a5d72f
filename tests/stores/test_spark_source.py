"""What jobs of Spark read of a real PostgreSQL: each row is one of the app's, once, whatever happens to drivers."""

import os
import re
import shutil
import signal
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from streamapp_systems.folder import Generations
from streamapp_systems.protocols import StreamSystemError
from support import apps, crashes
from support.object_stores import REGION, SECRET
from support.repository import ROOT
from support.waiting import eventually
from unit.docs import pages

COLUMNS = "id bigserial, shop text, amount numeric(10,2), placed_at timestamptz DEFAULT now()"
STEPS = [FailPoint.SOURCE_STAGE, FailPoint.SOURCE_PUBLISH]


class Example:
    """A copy of the example over a database, whose jobs follow each other soon."""

    def __init__(self, folder, shop):
        self.folder, self.shop = folder, shop
        shutil.copy(ROOT / "examples" / "spark-source" / "app.yaml", folder)
        self.app = yaml.safe_load((folder / "app.yaml").read_text())
        self.app["metadata"]["name"] = "app"
        self.app["spec"].pop("spark")
        self.app["spec"]["systems"]["shop"]["postgresql"]["uri"] = shop.uri
        self.source["options"]["url"] = f"jdbc:{shop.uri}"
        self.source["incremental"]["every"] = "10s"

    @property
    def source(self):
        return self.app["spec"]["systems"]["orders"]["spark"]

    @property
    def generations(self):
        return Generations(self.folder / self.source["path"] / "public.orders.staged")

    def place(self, *orders, age="1 hour"):
        for name, amount in orders:
            values = "INSERT INTO orders (shop, amount, placed_at) VALUES (%s, %s, now() - %s::interval)"
            self.shop.query(values, name, amount, age)

    def totals(self):
        there = self.shop.query("SELECT count(*) FROM pg_tables WHERE tablename = 'totals'") == [(1,)]
        return self.shop.query("SELECT shop, orders, amount FROM totals ORDER BY shop") if there else []

    def run_until(self, *totals, **options):
        expected = [(name, orders, Decimal(amount)) for name, orders, amount in totals]
        apps.run_until(self.folder, self.app, lambda: self.totals() == expected, **options)

    def start(self, **environment):
        (self.folder / "app.yaml").write_text(yaml.safe_dump(self.app))
        return crashes.start(self.folder, "--host", "in-process", **environment)

    def die(self, step, moment):
        died, output = crashes.end(self.start(**{VARIABLE: f"{step}:{moment}:1"}))
        assert died == -signal.SIGKILL, output


@pytest.fixture
def example(tmp_path, database, jdbc_driver):
    database.query(f"CREATE TABLE orders ({COLUMNS})")
    (tmp_path / "app").mkdir()
    return Example(tmp_path / "app", database)


def test_rows_that_a_job_reads_are_rows_of_the_app_once_and_so_are_those_that_come_later(example):
    example.place(("oslo", "1.50"), ("rome", "2.00"), ("oslo", "3.00"))
    example.place(("lima", "1.00"), age="1 minute")
    example.run_until(("oslo", 2, "4.50"), ("rome", 1, "2.00"))
    first = example.generations.last()
    assert (first.number, first.partitions, sum(file.records for file in first.files)) == (1, 2, 3)
    example.place(("rome", "0.50"), age="30 minutes")
    example.shop.query("UPDATE orders SET placed_at = now() - interval '6 minutes' WHERE shop = 'lima'")
    example.run_until(("lima", 1, "1.00"), ("oslo", 2, "4.50"), ("rome", 2, "2.50"))
    last = example.generations.last()
    assert [sum(file.records for file in example.generations.get(n).files) for n in range(2, last.number + 1)] == [2]


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_dies_around_a_generation_loses_and_doubles_nothing(example, step, moment):
    example.place(*[("oslo", "1.00")] * 20, *[("rome", "2.00")] * 10)
    example.die(step, moment)
    example.run_until(("oslo", 20, "20.00"), ("rome", 10, "20.00"))
    names = [name for name in example.generations.names() if re.fullmatch(r"generation-\d+-\w+", name)]
    assert names == [example.generations.get(1).folder]


def test_the_example_of_the_page_runs(example):
    (text,) = (block.text for block in pages.fences(pages.read("spark-sources.md")) if block.name == "app.yaml")
    url, example.app = example.source["options"]["url"], yaml.safe_load(text)
    source = example.app["spec"]["systems"]["shop"]["spark"]
    source["options"]["url"] = url
    example.app["spec"].pop("spark")
    example.place(("oslo", "1.50"), ("oslo", "2.50"), age="3 hours")
    example.place(("rome", "4.00"), age="1 hour")

    def hourly():
        parts = [pq.read_table(part).to_pylist() for part in (example.folder / "hourly").glob("part-*")]
        return [(row["shop"], row["amount"]) for rows in parts for row in rows]

    apps.run_until(example.folder, example.app, lambda: hourly() == [("oslo", Decimal("4.00"))])


def test_rows_are_staged_in_a_store_of_objects(example, bucket, monkeypatch):
    for name, value in SECRET.items():
        monkeypatch.setenv(name, value)
    store = {"endpoint": bucket.bucket.where, "region": REGION, "secretName": "lake"}
    example.source.update(path=f"{bucket}/staged", store=store, journal="journal")
    example.place(*[("oslo", "1.00")] * 20)
    example.die(FailPoint.SOURCE_PUBLISH, Moment.BEFORE)
    example.run_until(("oslo", 20, "20.00"))
    generations = Generations(bucket / "staged" / "public.orders.staged")
    found = generations.last()
    assert sorted(generations.names()) == sorted(["generation-000000001.json", found.folder])
    example.place(("oslo", "1.00"), age="30 minutes")
    example.run_until(("oslo", 21, "21.00"))


def test_a_driver_that_is_killed_while_spark_reads_leaves_no_process_and_no_generation(example):
    example.place(*[("oslo", "1.00")] * 3)
    example.shop.query("CREATE VIEW slow AS SELECT o.* FROM orders o, LATERAL (SELECT pg_sleep(600) WHERE o.id > 0) s")
    example.app["spec"]["streams"]["orders"]["name"] = "slow"
    working = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%slow%%' AND application_name LIKE '%%JDBC%%'"
    process = example.start()
    assert eventually(lambda: example.shop.query(working) == [(1,)])
    os.kill(process.pid, signal.SIGKILL)
    crashes.end(process)
    # The server notices that a client has gone when it sends it something: here it is told to look.
    example.shop.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%%JDBC%%'")
    assert eventually(lambda: not _readers(example.folder))
    assert Generations(example.folder / example.source["path"] / "slow.staged").last() is None


def _readers(folder):
    """List the processes whose folder is the app's: jobs that read sources."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == folder:
                found.append(link.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ALTER TABLE orders DROP COLUMN amount", "the table has no column `amount`: it has `id`, `shop`, `placed_at`"),
        ("ALTER TABLE orders ALTER amount TYPE text", "column `amount` is string in the table, not decimal(10,2)"),
        ("DROP TABLE orders", 'org.postgresql.util.PSQLException: ERROR: relation "public.orders" does not exist'),
        ("INSERT INTO orders (shop, placed_at) VALUES ('a', NULL)", "column `placed_at` is null in 1 of the rows"),
    ],
)
def test_a_source_that_can_not_be_read_ends_the_run_with_the_cause(example, change, message):
    example.shop.query(change)
    with pytest.raises(StreamSystemError, match=f"stream orders: .*{re.escape(message)}"):
        apps.run(example.app, example.folder)


def test_a_job_that_fails_later_is_tried_again_and_told(example):
    example.place(("oslo", "1.00"))
    example.run_until(("oslo", 1, "1.00"))
    example.place(("oslo", "2.00"), age="30 minutes")
    example.shop.query("ALTER TABLE orders RENAME TO moved")
    told = []

    def tell(summary):
        told.extend(notice.message for notice in summary.notices)
        if any("stream orders gets no new rows" in message and "does not exist" in message for message in told):
            example.shop.query("ALTER TABLE IF EXISTS moved RENAME TO orders")

    example.run_until(("oslo", 2, "3.00"), told=tell)
    assert told
