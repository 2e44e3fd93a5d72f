"""What jobs of Spark write to a real PostgreSQL: each row of the app's is there once, whatever happens to drivers."""

import json
import os
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from random import Random

import pytest
import yaml

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from streamapp_systems.outgoing import OutgoingGenerations, outgoing_folder
from streamapp_systems.protocols import StreamSystemError
from support import apps, crashes
from support.processes import kill_worker
from support.waiting import eventually
from unit.docs import pages

pytestmark = pytest.mark.timeout(1_200)
KILLS = int(os.environ.get("STREAMAPP_KILL_RUNS", "2"))
TYPES = (
    "k bigint, b boolean, t tinyint, s smallint, i int, f float, d double, n decimal(10,2), v string, day date, "
    "at timestamp, local timestamp_ntz"
)


class Shop:
    """An app that sends the rows of a folder to a table of a database, by jobs of Spark that follow each other soon."""

    def __init__(self, folder, database):
        self.folder, self.database = folder, database
        self.spark = {
            "format": "jdbc",
            "options": {"url": f"jdbc:{database.uri}", "driver": "org.postgresql.Driver"},
            "secretName": "shop-login",
            "path": "staged",
            "commitEvery": "10s",
        }
        self.app = {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": "app"},
            "spec": {
                "systems": {
                    "lake": {"folder": {"path": "."}},
                    "shop": {"spark": self.spark},
                    "log": {"log": {"path": "log.db"}},
                },
                "defaultSystem": "log",
                "streams": {
                    "rows": {"system": "lake", "format": "json", "schema": "k bigint", "partitions": 2},
                    "sold": {"system": "shop", "name": "public.sold"},
                },
                "operators": [
                    {"name": "by", "from": "rows", "partitionBy": {"key": "k"}},
                    {"name": "sent", "from": "by", "sendTo": "sold"},
                ],
                "job": {"commitInterval": "50ms"},
                "processors": {"count": 2},
            },
        }
        (folder / "rows").mkdir()
        self.numbers, self.placed = count(), 0

    @property
    def generations(self):
        return OutgoingGenerations(outgoing_folder(self.folder / "staged", "default.app", "public.sold"))

    def place(self, rows):
        """Have a file with that many more rows."""
        number = next(self.numbers)
        draft = self.folder / "rows" / f"_{number}"
        draft.write_text("".join(f'{{"k": {key}}}\n' for key in range(self.placed, self.placed + rows)))
        os.utime(draft, (0, 0))
        draft.rename(self.folder / "rows" / f"{number}.json")
        self.placed += rows

    def found(self):
        """Count the rows of the table by their keys, as the database has them."""
        there = self.database.query("SELECT count(*) FROM pg_tables WHERE tablename = 'sold'") == [(1,)]
        return Counter(key for (key,) in self.database.query("SELECT k FROM sold")) if there else Counter()

    def attempts(self):
        """List the tables into which a job writes just now."""
        return self.database.query("SELECT 1 FROM pg_tables WHERE tablename ~ '^streamapp_[0-9a-f]{8}_'")

    def complete(self):
        return self.found() == dict.fromkeys(range(self.placed), 1)

    def run_until_complete(self, **options):
        apps.run_until(self.folder, self.app, self.complete, **options)

    def start(self, **environment):
        (self.folder / "app.yaml").write_text(yaml.safe_dump(self.app))
        return crashes.start(self.folder, "--host", "processes", **environment)


@pytest.fixture
def shop(tmp_path, database, jdbc_driver):
    (tmp_path / "app").mkdir()
    return Shop(tmp_path / "app", database)


def test_rows_are_in_the_table_once_and_what_was_staged_is_gone(shop):
    shop.place(1_000)
    shop.run_until_complete()
    shop.place(500)
    shop.run_until_complete()
    assert not shop.attempts()


def test_a_generation_that_was_written_but_not_noted_is_not_written_again(shop):
    shop.place(1_000)
    died, output = crashes.end(shop.start(**{VARIABLE: f"{FailPoint.OUTPUT_NOTE}:{Moment.BEFORE}:1"}))
    assert died == -signal.SIGKILL, output
    shop.run_until_complete()


@pytest.mark.timeout(900 + 300 * KILLS)
def test_every_row_is_written_once_whoever_is_killed(shop):
    random = Random("spark")
    started = []
    for number in range(KILLS):
        shop.place(random.randrange(1, 2_000))
        before = shop.generations.written()
        started.append(process := shop.start())
        middle = number % 2 == 0
        reached = lambda: shop.generations.written() > before or (middle and shop.attempts())  # noqa: B023, E731
        assert eventually(reached, apps.DEADLINE)
        shop.place(random.randrange(1, 2_000))
        kill_worker(process.pid, random)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=random.uniform(0, 5))
            pytest.fail(crashes.end(process)[1])
        process.kill()
        process.wait(timeout=apps.DEADLINE)
    started.append(shop.start())
    assert eventually(shop.complete, apps.DEADLINE), shop.found() - Counter(range(shop.placed))
    for process in reversed(started):
        crashes.kill_group(process)
    assert shop.complete()


VALUES = {
    "k": 1,
    "b": True,
    "t": -128,
    "s": -32_768,
    "i": -(2**31),
    "f": 0.5,
    "d": 0.1,
    "n": "-12345678.90",
    "v": "a'b é ☃",
    "day": "1500-01-02",
    "at": "2024-05-01T08:00:00.123456Z",
    "local": "2024-03-31T02:30:00.000001",
}


def test_values_are_those_of_the_app_also_in_columns_that_somebody_else_has_made(shop):
    columns = "k numeric, b boolean, t int, s int, i bigint, f double precision, d double precision, n numeric(12,3)"
    shop.database.query(
        f'CREATE TABLE sold (other text, "V" varchar(20), {columns}, day date, at timestamp, local timestamp)'
    )
    shop.app["spec"]["streams"]["rows"]["schema"] = TYPES
    (shop.folder / "rows" / "1.json").write_text(json.dumps(VALUES) + "\n" + json.dumps({"k": 2}) + "\n")
    os.utime(shop.folder / "rows" / "1.json", (0, 0))
    apps.run_until(shop.folder, shop.app, lambda: len(shop.database.query("SELECT 1 FROM sold")) == 2)
    first, second = shop.database.query('SELECT b, t, s, i, f, d, n, "V", day, at, local FROM sold ORDER BY k')
    assert second == (None,) * len(second)
    assert first == (
        True,
        -128,
        -32_768,
        -(2**31),
        0.5,
        0.1,
        Decimal("-12345678.900"),
        VALUES["v"],
        date(1500, 1, 2),
        datetime(2024, 5, 1, 8, 0, 0, 123_456, UTC).replace(tzinfo=None),
        datetime(2024, 3, 31, 2, 30, 0, 1, UTC).replace(tzinfo=None),
    )


def test_rows_that_do_not_fit_the_table_end_the_run_with_the_reasons(shop):
    shop.database.query("CREATE TABLE sold (k int)")
    with pytest.raises(StreamSystemError, match=r"table public\.sold: its column `k` is int, and rows have bigint"):
        apps.run(shop.app, shop.folder)


def test_what_fails_later_is_told_and_written_when_it_can_be(shop):
    shop.place(10)
    shop.run_until_complete()
    shop.database.query("ALTER TABLE sold ADD CHECK (k < 10) NOT VALID")
    shop.place(10)
    told = []

    def tell(summary):
        told.extend(notice.message for notice in summary.notices)
        if any("public.sold is not written" in message and "violates check constraint" in message for message in told):
            shop.database.query("ALTER TABLE sold DROP CONSTRAINT IF EXISTS sold_k_check")

    shop.run_until_complete(told=tell)
    assert told


def test_a_database_that_has_lost_what_was_written_is_refused(shop):
    shop.place(10)
    apps.run_until(shop.folder, shop.app, lambda: shop.complete() and not shop.generations.pending())
    shop.database.query("DELETE FROM streamapp_generations")
    shop.place(10)
    told = []

    def stop(summary):
        told.extend(notice.message for notice in summary.notices)
        return any("has no row of chain" in message for message in told)

    apps.run_until(shop.folder, shop.app, lambda: bool(told), told=stop)
    assert len(shop.found()) == 10


def test_the_example_of_the_page_runs(shop):
    (text,) = (block.text for block in pages.fences(pages.read("spark-outputs.md")) if block.name == "app.yaml")
    example = yaml.safe_load(text)
    example["spec"].pop("spark")
    example["spec"]["systems"]["shop"]["spark"]["options"]["url"] = shop.spark["options"]["url"]
    (shop.folder / "landing" / "orders").mkdir(parents=True)
    (shop.folder / "landing" / "orders" / "1.csv").write_text("id,shop,amount\n1,oslo,10.00\n2,rome,1000.01\n")
    os.utime(shop.folder / "landing" / "orders" / "1.csv", (0, 0))
    there = "SELECT count(*) FROM pg_tables WHERE tablename = 'large_orders'"
    apps.run_until(shop.folder, example, lambda: shop.database.query(there) == [(1,)])
