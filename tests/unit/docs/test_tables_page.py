"""The page about folders and tables that grow: its apps are accepted, and read what comes while they run."""

import datetime
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable, TableFeatures, write_deltalake

from streamapp_runtime.errors import PlanRefused
from support import apps, growing_iceberg, iceberg_outputs
from unit.docs import pages


def publish(folder, name, *lines, header="shop,amount,at"):
    draft = folder / f".{name}"
    draft.write_text("".join(f"{line}\n" for line in (header, *lines)))
    os.utime(draft, (0, 0))
    draft.rename(folder / name)


def example(name):
    (found,) = (block.text for block in pages.fences(pages.read("tables.md")) if block.name == name)
    return yaml.safe_load(found)


def test_the_example_reads_files_that_come_while_it_runs(tmp_path):
    document = example("app.yaml")
    document["spec"]["streams"]["orders"]["eventTime"]["idleTimeout"] = "1s"
    document["spec"]["job"] = {"commitInterval": "100ms"}
    landing = tmp_path / "landing" / "orders"
    landing.mkdir(parents=True)
    publish(landing, "1.csv", "oslo,1,2024-05-01T08:10:00", "rome,2,2024-05-01T08:20:00")
    late = ["oslo,4,2024-05-01T08:50:00", "oslo,8,2024-05-01T09:30:00"]

    def found():
        parts = [pq.read_table(path) for path in (tmp_path / "hourly").glob("part-*")]
        return sorted((row["shop"], row["amount"]) for row in pa.concat_tables(parts).to_pylist()) if parts else []

    def publish_later(summary):
        if any(stream.name == "orders" and stream.read == 2 for stream in summary.streams):
            publish(landing, "2.csv", *late)

    apps.run_until(tmp_path, document, lambda: found() == [("oslo", 5), ("rome", 2)], told=publish_later)
    publish(landing, "3.csv", "oslo,16,2024-05-01T09:40:00", "rome,32,2024-05-01T10:00:00")
    apps.run_until(tmp_path, document, lambda: found() == [("oslo", 5), ("oslo", 24), ("rome", 2)])


def test_the_example_follows_tables_of_delta(tmp_path):
    document = example("lake.yaml")
    document["spec"]["job"] = {"commitInterval": "100ms"}
    orders = tmp_path / "lake" / "sales" / "orders"

    def append(*rows):
        columns = {name: [row[index] for row in rows] for index, name in enumerate(("shop", "amount"))}
        columns["day"] = pa.array([datetime.date(2024, 5, 1)] * len(rows))
        write_deltalake(orders, pa.table(columns), mode="append", partition_by=["day"])

    write_deltalake(tmp_path / "lake" / "shops", pa.table({"shop": ["a"], "city": ["oslo"]}))
    append(("a", 1), ("b", 2))
    day = "2024-05-01"
    first = [("a", "oslo", "1", day), ("b", "", "2", day)]
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == first)
    DeltaTable(orders).optimize.compact()
    append(("a", 3))
    second = [first[0], ("a", "oslo", "3", day), first[1]]
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == second)


def test_the_example_follows_changes_of_a_table(tmp_path):
    table = tmp_path / "lake" / "sales" / "customers"

    def customers(ids, cities):
        return pa.table({"id": pa.array(ids, pa.int64()), "city": pa.array(cities, pa.string())})

    def found():
        last = apps.last_per_key(tmp_path / "living", 1).values()
        return {city: int(count) for city, count, change in last if change == "u"}

    document = example("changes.yaml")
    document["spec"]["job"] = {"commitInterval": "100ms"}
    write_deltalake(
        table, customers([1, 2, 3], ["rome", "oslo", "rome"]), configuration={"delta.enableChangeDataFeed": "true"}
    )
    apps.run_until(tmp_path, document, lambda: found() == {"rome": 2, "oslo": 1})
    DeltaTable(table).update({"city": "'rome'"}, predicate="id = 2")
    DeltaTable(table).delete("id = 1")
    write_deltalake(table, customers([4], ["oslo"]), mode="append")
    apps.run_until(
        tmp_path, document, lambda: found() == {"rome": 2, "oslo": 1} and len(apps.rows(tmp_path / "living")) > 2
    )
    write_deltalake(table, customers([3, 4], ["bern", "bern"]), mode="overwrite")
    apps.run_until(tmp_path, document, lambda: found() == {"bern": 2})


def test_a_side_input_of_changes_forgets_what_is_deleted(tmp_path):
    document = example("lake.yaml")
    document["spec"]["job"] = {"commitInterval": "100ms"}
    document["spec"]["streams"]["shops"] |= {"key": "shop", "changes": "upsert"}
    shops, orders = tmp_path / "lake" / "shops", tmp_path / "lake" / "sales" / "orders"
    day = pa.array([datetime.date(2024, 5, 1)] * 2)
    write_deltalake(shops, pa.table({"shop": ["a", "b"], "city": ["oslo", "rome"]}))
    write_deltalake(orders, pa.table({"shop": ["a", "b"], "amount": [1, 2], "day": day}))
    first = [("a", "oslo", "1", "2024-05-01"), ("b", "rome", "2", "2024-05-01")]
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == first)
    DeltaTable(shops).delete("shop = 'a'")
    DeltaTable(shops).update({"city": "'bern'"}, predicate="shop = 'b'")
    write_deltalake(orders, pa.table({"shop": ["a", "b"], "amount": [3, 4], "day": day}), mode="append")
    second = [("a", "", "3", "2024-05-01"), ("b", "bern", "4", "2024-05-01")]
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == sorted(first + second))


def iceberg_lake(tmp_path):
    """Give the example as an app of tables of Iceberg, its catalog with a shop, and what appends orders."""
    document = example("lake.yaml")
    document["spec"]["job"] = {"commitInterval": "100ms"}
    document["spec"]["systems"]["lake"] = {"iceberg": {"catalog": {"uri": "sqlite:///catalog.db"}, "path": "warehouse"}}
    document["spec"]["streams"]["orders"]["name"] = "sales.orders"
    document["spec"]["streams"]["shops"]["name"] = "sales.shops"
    catalog = iceberg_outputs.library_catalog(tmp_path)
    catalog.create_namespace("sales")

    def append(name, rows):
        catalog.create_table_if_not_exists(name, rows.schema).append(rows)

    def order(*rows):
        days = pa.array([datetime.date(2024, 5, 1)] * len(rows))
        shops, amounts = [row[0] for row in rows], pa.array([row[1] for row in rows], pa.int32())
        append("sales.orders", pa.table({"shop": shops, "amount": amounts, "day": days}))

    append("sales.shops", pa.table({"shop": ["a"], "city": ["oslo"]}))
    order(("a", 1), ("b", 2))
    return document, catalog, order


FIRST = [("a", "oslo", "1", "2024-05-01"), ("b", "", "2", "2024-05-01")]


def test_the_same_app_follows_tables_of_iceberg(tmp_path):
    document, _, order = iceberg_lake(tmp_path)
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == FIRST)
    order(("a", 3))
    second = [FIRST[0], ("a", "oslo", "3", "2024-05-01"), FIRST[1]]
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == second)


def test_a_side_input_of_changes_follows_a_table_of_iceberg_that_is_written_anew(tmp_path):
    document, catalog, order = iceberg_lake(tmp_path)
    document["spec"]["streams"]["shops"] |= {"key": "shop", "changes": "upsert"}
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == FIRST)
    catalog.load_table("sales.shops").overwrite(pa.table({"shop": ["b"], "city": ["rome"]}))
    order(("a", 3), ("b", 4))
    second = sorted([*FIRST, ("a", "", "3", "2024-05-01"), ("b", "rome", "4", "2024-05-01")])
    apps.run_until(tmp_path, document, lambda: sorted(apps.rows(tmp_path / "located")) == second)


def read_delta(folder):
    table = folder / "lake" / "sales" / "archived"
    return DeltaTable(table).to_pyarrow_table() if DeltaTable.is_deltatable(str(table)) else None


def read_iceberg(folder):
    there = (folder / "catalog.db").exists() and iceberg_outputs.library_catalog(folder).table_exists("sales.archived")
    return iceberg_outputs.read_rows(folder, name="sales.archived") if there else None


@pytest.mark.parametrize(
    ("name", "kind", "read"), [("output.yaml", "delta", read_delta), ("iceberg.yaml", "iceberg", read_iceberg)]
)
def test_the_example_appends_to_a_table(tmp_path, name, kind, read):
    document = example(name)
    document["spec"]["systems"]["lake"][kind]["commitEvery"] = "100ms"
    landing = tmp_path / "landing" / "orders"
    landing.mkdir(parents=True)
    publish(landing, "1.csv", "oslo,1,2024-05-01T08:10:00", "rome,2,2024-05-02T08:20:00")

    def found():
        table = read(tmp_path)
        rows = table.to_pylist() if table is not None else []
        return sorted((row["shop"], row["amount"], row["day"].isoformat()) for row in rows)

    first = [("oslo", 1, "2024-05-01"), ("rome", 2, "2024-05-02")]
    apps.run_until(tmp_path, document, lambda: found() == first)
    publish(landing, "2.csv", "oslo,4,2024-05-02T08:10:00")
    apps.run_until(tmp_path, document, lambda: found() == [first[0], ("oslo", 4, "2024-05-02"), first[1]])


def test_small_files_are_joined_old_ones_removed_and_what_fails_is_told(tmp_path):
    document = example("compacted.yaml")
    document["spec"]["systems"]["lake"]["delta"] |= {"commitEvery": "100ms", "compactEvery": "1s", "vacuumEvery": "1s"}
    (tmp_path / "landing" / "orders").mkdir(parents=True)
    table, told = tmp_path / "lake" / "sales" / "archived", {}

    def grow(day):
        rows = {"shop": ["oslo"], "amount": pa.array([1], pa.int32()), "day": [datetime.date(2024, 5, day)]}
        write_deltalake(table, pa.table(rows), mode="append", partition_by=["day"])

    def files():
        return DeltaTable(table).file_uris() if DeltaTable.is_deltatable(str(table)) else []

    def listen(summary):
        told.update({notice.reason: notice.message for notice in summary.notices})

    for _ in range(7):
        grow(1)
    left, week = table / "day=2024-05-01" / "left.parquet", 8 * 86_400
    left.write_bytes(b"")
    os.utime(left, (time.time() - week,) * 2)
    apps.run_until(tmp_path, document, lambda: len(files()) == 1 and not left.exists())
    assert read_delta(tmp_path).num_rows == 7
    assert len(list(left.parent.iterdir())) == 8
    for _ in range(7):
        grow(2)
    broken = next(path for path in files() if "day=2024-05-02" in path)
    Path(broken.removeprefix("file://")).write_bytes(b"no rows")
    DeltaTable(table).alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    apps.run_until(tmp_path, document, lambda: len(told) == 2, told=listen)
    assert "small files of the table of stream archived were not joined: " in told["TableNotCompacted"]
    assert "files that the table of stream archived needs no more were not removed: " in told["TableNotVacuumed"]


def test_snapshots_that_are_older_than_is_asked_expire(tmp_path):
    document = example("iceberg.yaml")
    document["spec"]["systems"]["lake"]["iceberg"] |= {"commitEvery": "100ms", "keepSnapshots": "7d"}
    landing = tmp_path / "landing" / "orders"
    landing.mkdir(parents=True)

    def shops():
        table = read_iceberg(tmp_path)
        return [] if table is None else sorted(table.column("shop").to_pylist())

    def table():
        return iceberg_outputs.library_catalog(tmp_path).load_table("sales.archived")

    def grow_old(metadata):
        for aged in (metadata, *metadata["snapshots"], *metadata["snapshot-log"], *metadata["metadata-log"]):
            for name in aged.keys() & {"timestamp-ms", "last-updated-ms"}:
                aged[name] -= 30 * 24 * 3_600_000

    publish(landing, "1.csv", "oslo,1,2024-05-01T08:10:00")
    apps.run_until(tmp_path, document, lambda: shops() == ["oslo"])
    publish(landing, "2.csv", "rome,2,2024-05-01T08:10:00")
    apps.run_until(tmp_path, document, lambda: shops() == ["oslo", "rome"])
    before = [snapshot.snapshot_id for snapshot in table().snapshots()]
    growing_iceberg.change_metadata(table(), tmp_path / "warehouse", grow_old)
    publish(landing, "3.csv", "bern,3,2024-05-01T08:10:00")
    apps.run_until(tmp_path, document, lambda: shops() == ["bern", "oslo", "rome"])
    left = [snapshot.snapshot_id for snapshot in table().snapshots()]
    assert len(before) == len(left) == 2
    assert left[0] == before[1]


def test_columns_that_a_table_has_otherwise_are_found_by_plan(tmp_path):
    write_deltalake(tmp_path / "lake" / "shops", pa.table({"shop": ["a"], "town": ["oslo"]}))
    write_deltalake(tmp_path / "lake" / "sales" / "orders", pa.table({"shop": ["a"], "amount": ["1"], "day": ["x"]}))
    with pytest.raises(PlanRefused) as refused:
        apps.run(example("lake.yaml"), tmp_path)
    assert [(problem.path, problem.code) for problem in refused.value.problems] == [
        ("spec.streams.orders.schema", "TypeMismatch"),
        ("spec.streams.orders.schema", "TypeMismatch"),
        ("spec.streams.shops.schema", "TypeMismatch"),
    ]


def test_the_example_takes_the_prices_version_by_version(tmp_path):
    document = example("versions.yaml")
    document["spec"]["job"] = {"commitInterval": "100ms"}
    document["spec"]["tables"]["price"]["refresh"] = "100ms"
    landing, prices = tmp_path / "landing" / "sales", tmp_path / "lake" / "prices"
    landing.mkdir(parents=True)
    first, second = [("a", "2"), ("b", "4")], [("a", "20"), ("b", "")]
    awaited = "0"

    def write(items, values):
        write_deltalake(prices, pa.table({"item": items, "price": values}), mode="overwrite")

    def publish_sales(name):
        publish(landing, f"{name}.csv", "a,2", "b,2", header="item,amount")

    def told(summary):
        nonlocal awaited
        (version,) = (stream.version.partition("-")[0] for stream in summary.streams if stream.name == "prices")
        if version == awaited == "0" and sorted(apps.rows(tmp_path / "priced")) == first:
            write(["a"], [10.0])
            awaited = "1"
        elif version == awaited == "1":
            publish_sales("later")
            awaited = ""

    write(["a", "b"], [1.0, 2.0])
    publish_sales("first")
    apps.run_until(
        tmp_path, document, lambda: sorted(apps.rows(tmp_path / "priced")) == sorted(first + second), told=told
    )
