"""Sources that only Spark reads, here files of ORC: read once or again, as inputs and as side inputs."""

import csv
import time

import pyarrow as pa
import pytest
from pyarrow import orc
from tools.machine import lacking

from streamapp_systems.folder import Generations
from streamapp_systems.protocols import StreamSystemError
from support import apps
from support.machine import need

SHOPS = {"shop": ["oslo", "rome"], "city": ["Oslo", "Roma"]}


@pytest.fixture(autouse=True)
def _spark():
    need(lacking()["integration"])


def write(folder, name, **columns):
    folder.mkdir(exist_ok=True)
    types = {"id": pa.int64(), "shop": pa.string(), "city": pa.string()}
    orc.write_table(pa.table({c: pa.array(v, types[c]) for c, v in columns.items()}), folder / f".{name}")
    (folder / f".{name}").rename(folder / f"{name}.orc")


def system(**fields):
    return {"spark": {"format": "orc", "path": "staged", **fields}}


def lines(folder):
    return apps.rows(folder)


def app(operators, streams, systems, **spec):
    document = apps.document(operators, **spec)
    document["spec"]["systems"] |= systems
    document["spec"]["streams"] |= streams
    return document


def test_a_source_that_fills_a_table_is_read_before_rows_are_joined(tmp_path):
    write(tmp_path / "shops", "1", **SHOPS)
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "1.csv").write_text("shop,at\noslo,2024-05-01T08:00:00\nrome,2024-05-01T09:00:00\n")
    document = app(
        [
            {"name": "located", "from": "orders", "joinTable": {"table": "cities", "on": "shop", "type": "left"}},
            {"name": "taken", "from": "located", "map": "shop, city"},
            {"name": "sent", "from": "taken", "sendTo": "found"},
        ],
        {
            "orders": {"system": "files", "format": "csv", "schema": "shop string, at timestamp"},
            "shops": {"system": "spark", "schema": "shop string, city string", "broadcast": True},
            "found": {"system": "files", "format": "csv"},
        },
        {"spark": system()},
        tables={"cities": {"key": "shop", "sideInputs": ["shops"]}},
    )
    apps.run(document, tmp_path)
    assert sorted(lines(tmp_path / "found")) == [("oslo", "Oslo"), ("rome", "Roma")]
    write(tmp_path / "shops", "2", shop=["oslo"], city=["Kristiania"])
    apps.run(document, tmp_path, run_id="r2")
    assert sorted(lines(tmp_path / "found")) == [("oslo", "Oslo"), ("rome", "Roma")]
    assert Generations(tmp_path / "staged" / "shops.staged").last().number == 1


def test_rows_of_a_key_are_in_one_partition_in_the_order_of_the_column(tmp_path):
    document = app(
        [{"name": "sent", "from": "orders", "sendTo": "found"}],
        {
            "orders": {"system": "spark", "schema": "id bigint, shop string", "key": "shop", "partitions": 3},
            "found": {"system": "files", "format": "csv"},
        },
        {"spark": system(incremental={"column": "id", "every": "10s"})},
    )
    names = [f"shop-{number % 7}" for number in range(100)]
    write(tmp_path / "orders", "1", id=[*range(50)][::-1], shop=names[:50][::-1])
    expected = [(str(number), name) for number, name in enumerate(names)]
    apps.run_until(tmp_path, document, lambda: sorted(lines(tmp_path / "found")) == sorted(expected[:50]))
    write(tmp_path / "orders", "2", id=[*range(50, 100)], shop=names[50:])
    apps.run_until(tmp_path, document, lambda: sorted(lines(tmp_path / "found")) == sorted(expected))
    for part in apps.parts(tmp_path / "found"):
        with part.open() as file:
            found = list(csv.reader(file))[1:]
        for name in set(names):
            assert [row for row in found if row[1] == name] == sorted(
                (row for row in found if row[1] == name), key=lambda row: int(row[0])
            )
    generations = Generations(tmp_path / "staged" / "orders.staged")
    files = [file for number in (1, 2) for file in generations.get(number).files]
    assert {file.partition for file in files} <= {0, 1, 2}
    assert [generations.get(number).maximum for number in (1, 2)] == ["49", "99"]


def test_a_column_that_became_another_one_is_refused(tmp_path):
    write(tmp_path / "orders", "1", id=[1], shop=["oslo"])
    document = app(
        [{"name": "sent", "from": "orders", "sendTo": "found"}],
        {
            "orders": {"system": "spark", "schema": "id bigint, shop string"},
            "found": {"system": "files", "format": "csv"},
        },
        {"spark": system()},
    )
    apps.run_until(tmp_path, document, lambda: lines(tmp_path / "found") == [("1", "oslo")])
    document["spec"]["systems"]["spark"]["spark"]["incremental"] = {"column": "id"}
    message = r"has generations of 1 partitions, which were read once, and the spec says 1 partitions by column `id`"
    told = []
    deadline = time.monotonic() + apps.DEADLINE

    def listener(summary):
        told.extend(notice.message for notice in summary.notices)
        if told:
            raise apps.Stop
        assert time.monotonic() < deadline

    with pytest.raises(apps.Stop):
        apps.run(document, tmp_path, run_id="r2", listener=listener)
    assert any(message in text for text in told), told


def test_a_source_that_spark_does_not_know_ends_the_run_with_the_cause(tmp_path):
    document = app(
        [{"name": "sent", "from": "orders", "sendTo": "found"}],
        {"orders": {"system": "spark", "schema": "id bigint"}, "found": {"system": "files", "format": "csv"}},
        {"spark": system(format="nothing.of.the.kind")},
    )
    with pytest.raises(StreamSystemError, match=r"stream orders: Spark can't read it: .*nothing\.of\.the\.kind"):
        apps.run(document, tmp_path)
