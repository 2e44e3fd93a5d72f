"""Outputs that are tables of Iceberg: what was staged is added once, whoever dies or comes late."""

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import ListType, LongType, NestedField, StringType, UUIDType
from sqlalchemy.exc import OperationalError

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.iceberg import IcebergTable, IcebergVersion, sql_catalog
from streamapp_systems.protocols import StagedPart, StreamSystemError, Unavailable
from support.growing_iceberg import GrowingLake, ssp, stream
from support.iceberg_outputs import NAME, database_in, library_catalog, read_rows, table_in
from support.table_outputs import SCHEMA, WrittenTable, publish_through_deaths, rows

COLUMNS = Schema(NestedField(1, "n", LongType()), NestedField(2, "city", StringType()))


@pytest.mark.parametrize("folders", [(), ("city",), ("CITY",)])
def test_parts_of_several_commits_are_one_snapshot(tmp_path: Path, folders) -> None:
    table = table_in(tmp_path)
    table.create(folders)
    output = table.opened(1, folders)
    parts: list[StagedPart] = []
    for number in range(5):
        output.write("out", rows(number, number + 10))
        parts += output.stage()
    assert table.found() == []
    output.publish(parts)
    found = library_catalog(tmp_path).load_table(NAME)
    assert (len(found.snapshots()), len(list(found.scan().plan_files()))) == (1, 3 if folders else 1)
    assert table.found() == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    assert found.scan(row_filter="city = 'c/1 %'").to_arrow().num_rows == 4
    table.opened(2, folders).publish(parts)
    assert len(library_catalog(tmp_path).load_table(NAME).snapshots()) == 1
    output.close()


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(data) -> None:
    with TemporaryDirectory() as folder:
        table = table_in(Path(folder), keep=data.draw(st.sampled_from([None, 0])))
        table.create()
        join_manifests(Path(folder), data.draw(st.sampled_from([2, 100])))
        publish_through_deaths(table, data)


def join_manifests(folder: Path, count: int) -> None:
    """Have commits join the table's manifests once there are so many."""
    table = library_catalog(folder).load_table(NAME)
    with table.transaction() as transaction:
        transaction.set_properties(
            {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": str(count)}
        )


def commit_first(monkeypatch, version_of, act) -> None:
    """Have something happen between the load of the table and the commit on it, once."""
    append, acted = version_of.append, []

    def acting(version, files, marks):
        if not acted:
            acted.append(1)
            act()
        return append(version, files, marks)

    monkeypatch.setattr(version_of, "append", acting)


def test_who_loses_a_race_looks_again(tmp_path: Path, monkeypatch) -> None:
    table = table_in(tmp_path)
    table.create()
    output, other = table.opened(1), table.opened(2)
    output.write("out", rows(1))
    parts = output.stage()
    commit_first(monkeypatch, IcebergVersion, lambda: other.publish(parts))
    output.publish(parts)
    assert table.found() == [1]


def test_other_writers_append_at_the_same_time(tmp_path: Path, monkeypatch) -> None:
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    commit_first(monkeypatch, IcebergVersion, lambda: library_catalog(tmp_path).load_table(NAME).append(rows(7)))
    output.publish(output.stage())
    assert table.found() == [1, 7]


def test_files_that_were_written_for_other_partitions_are_written_again(tmp_path: Path, monkeypatch) -> None:
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1, 2))

    def repartition():
        found = library_catalog(tmp_path).load_table(NAME)
        with found.update_spec() as spec:
            spec.add_identity("city")
        found.append(rows(7))

    commit_first(monkeypatch, IcebergVersion, repartition)
    output.publish(output.stage())
    files = list(library_catalog(tmp_path).load_table(NAME).scan().plan_files())
    assert (table.found(), len(files)) == ([1, 2, 7], 3)


@pytest.mark.parametrize("taken", [True, False])
def test_a_commit_whose_answer_is_lost_is_found_in_the_table(tmp_path: Path, monkeypatch, taken) -> None:
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    catalog = sql_catalog.OneTryCatalog
    commit, lost = catalog.commit_table, []

    def losing(*given):
        if taken:
            commit(*given)
        lost.append(1)
        raise OperationalError("COMMIT", {}, sqlite3.OperationalError("database is locked"))

    monkeypatch.setattr(catalog, "commit_table", losing)
    if taken:
        output.publish(parts)
    else:
        with pytest.raises(Unavailable, match=r"sales.t can't be written: .*catalog.db: database is locked"):
            output.publish(parts)
    monkeypatch.undo()
    table.opened(2).publish(parts)
    assert (table.found(), lost) == ([1], [1])


def test_columns_that_a_table_gets_under_a_run_are_null_in_what_was_staged(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    found = library_catalog(tmp_path).load_table(NAME)
    with found.update_schema() as schema:
        schema.add_column("more", StringType())
    output.publish(parts)
    assert found.refresh().scan().to_arrow().to_pylist() == [{"n": 1, "city": "c/1 %", "more": None}]


def test_marks_outlive_the_snapshots_that_set_them(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    output.publish(parts)
    found = library_catalog(tmp_path).load_table(NAME)
    (first,) = found.snapshots()
    found.append(rows(7))
    found.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    assert len(found.refresh().snapshots()) == 1
    table.opened(2).publish(parts)
    assert table.found() == [1, 7]


def grow(table: WrittenTable, numbers: range) -> None:
    """Append a row with each snapshot."""
    output = table.opened(numbers[0])
    for number in numbers:
        output.write("out", rows(number))
        output.publish(output.stage())


def test_old_snapshots_expire_with_the_commit_of_another(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path, schema=COLUMNS)
    grow(table_in(tmp_path, keep=3_600_000), range(3))
    first, _, third = lake.table().snapshots()
    lake.table().manage_snapshots().create_tag(first.snapshot_id, "first").commit()
    table = table_in(tmp_path, keep=0)
    grow(table, range(3, 4))
    left = [snapshot.snapshot_id for snapshot in lake.table().snapshots()]
    assert (left[:2], len(left)) == ([first.snapshot_id, third.snapshot_id], 3)
    assert table.found() == [0, 1, 2, 3]
    assert lake.table().scan(snapshot_id=first.snapshot_id).to_arrow().num_rows == 1
    grow(table, range(4, 9))
    assert len(lake.table().snapshots()) == 3
    assert table.found() == [*range(9)]


def test_who_has_read_up_to_the_snapshot_before_reads_on(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path, schema=COLUMNS)
    numbers = stream("n bigint")
    lake.admin().create({numbers: 1})
    table = table_in(tmp_path, keep=0)
    for number in range(4):
        grow(table, range(number, number + 1))
        assert lake.admin().end_offsets([numbers]) == {ssp(0): number + 1}
    assert [row["n"] for row in lake.read({ssp(0): 0}, numbers)[ssp(0)]] == [0, 1, 2, 3]
    grow(table, range(4, 6))
    with pytest.raises(StreamSystemError, match="have expired"):
        lake.admin().end_offsets([numbers])


def test_manifests_are_joined_where_the_table_asks_for_it(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path, schema=COLUMNS)
    join_manifests(tmp_path, 3)
    numbers = stream("n bigint")
    lake.admin().create({numbers: 1})
    for number in range(7):
        grow(table_in(tmp_path), range(number, number + 1))
        assert lake.admin().end_offsets([numbers]) == {ssp(0): number + 1}
        table = lake.table()
        assert len(table.current_snapshot().manifests(table.io)) <= 3
    assert [row["n"] for row in lake.read({ssp(0): 0}, numbers)[ssp(0)]] == [*range(7)]
    assert table_in(tmp_path).found() == [*range(7)]


def test_a_part_or_a_table_that_is_gone_is_an_error(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    output = table.opened(1)
    output.write("out", rows(1))
    parts = output.stage()
    with pytest.raises(StreamSystemError, match=r"table sales.t of .* is gone"):
        output.publish(parts)
    table.create()
    (table.root / parts[0].staged).unlink()
    with pytest.raises(StreamSystemError, match="was not added to table"):
        output.publish(parts)


def test_every_type_comes_back_and_each_value_has_its_partition(tmp_path: Path) -> None:
    schema = parse_schema(
        "n bigint, i int, b boolean, day date, city string, a timestamp, u timestamp_ntz, d decimal(9,2), f float, "
        "g double, bin binary, l array<int>, m map<string,bigint>, s struct<x:int,y:array<string>>"
    )
    texts = [None, "", "x/ü=%?", "__HIVE_DEFAULT_PARTITION__"]
    values = [
        {
            "n": number,
            "i": -number,
            "b": number % 2 == 0,
            "day": None if number % 3 else date(2024, 5, number + 1),
            "city": texts[number % len(texts)],
            "l": [1, None],
            "m": [("a", None)],
            "s": {"x": 1, "y": ["q", None]},
            "bin": b"\0",
        }
        for number in range(12)
    ]
    table = table_in(tmp_path)
    written = pa.Table.from_pylist(values, arrow_schema(schema))
    version = IcebergTable(database_in(tmp_path, table.root), NAME).create(written.schema, ["B", "day", "city", "i"])
    assert list(version.mismatches(written.schema, ["b", "day", "city", "i"])) == []
    output = table.opened(1)
    output._schemas["out"] = written.schema
    output.write("out", written)
    output.publish(output.stage())
    expected = written.to_pylist()
    assert sorted(read_rows(tmp_path).cast(written.schema).to_pylist(), key=lambda row: row["n"]) == expected
    found = library_catalog(tmp_path).load_table(NAME)
    assert sorted(found.scan().to_arrow().to_pylist(), key=lambda row: row["n"]) == expected
    for condition, wanted in [("city = ''", ""), ("city is null", None), ("city = 'x/ü=%?'", "x/ü=%?")]:
        numbers = found.scan(row_filter=condition).to_arrow().column("n").to_pylist()
        assert sorted(numbers) == [row["n"] for row in expected if row["city"] == wanted]
    days = found.scan(row_filter="day = '2024-05-04'").to_arrow()
    assert days.column("n").to_pylist() == [3]


def test_years_that_python_has_not_are_written(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    columns = arrow_schema(parse_schema("n bigint, day date, at timestamp"))
    days = [0, 2_932_897, -719_529, -800_000, None]
    dates = pa.array(days, pa.int32()).cast(pa.date32())
    moments = pa.array([None if day is None else day * 86_400_000_000 for day in days]).cast(columns.field("at").type)
    IcebergTable(database_in(tmp_path, table.root), NAME).create(columns, ())
    output = table.opened(1)
    output._schemas["out"] = columns
    output.write("out", pa.table([pa.array(range(5), pa.int64()), dates, moments], schema=columns))
    output.publish(output.stage())
    (task,) = library_catalog(tmp_path).load_table(NAME).scan(row_filter="n = 3").plan_files()
    assert (task.file.record_count, set(task.file.lower_bounds), task.file.null_value_counts) == (
        5,
        {1},
        {1: 0, 2: 1, 3: 1},
    )
    written = pq.read_table(task.file.file_path.removeprefix("file://"))
    assert (written.column("day").combine_chunks(), written.column("at").combine_chunks()) == (dates, moments)


def test_a_partition_of_a_year_that_python_has_not_is_told(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    columns = arrow_schema(parse_schema("n bigint, day date"))
    IcebergTable(database_in(tmp_path, table.root), NAME).create(columns, ["day"])
    output = table.opened(1, ("day",))
    output._schemas["out"] = columns
    day = pa.array([2_932_897], pa.int32()).cast(pa.date32())
    output.write("out", pa.table([pa.array([1], pa.int64()), day], schema=columns))
    with pytest.raises(StreamSystemError, match=r"sales.t can't be written: .*\+10000-01-01"):
        output.publish(output.stage())


def test_files_are_where_a_path_that_ends_with_a_slash_says(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.create()
    with library_catalog(tmp_path).load_table(NAME).transaction() as transaction:
        transaction.set_properties({"write.data.path": f"file://{tmp_path}/data/"})
    output = table.opened(1)
    output.write("out", rows(1))
    output.publish(output.stage())
    (task,) = library_catalog(tmp_path).load_table(NAME).scan().plan_files()
    folder, name = task.file.file_path.rsplit("/", 1)
    assert (folder, (tmp_path / "data" / name).is_file()) == (f"file://{tmp_path}/data", True)


def test_a_differing_table_is_refused_with_every_reason(tmp_path: Path) -> None:
    database = database_in(tmp_path, tmp_path / "warehouse")
    wrong = pa.schema([pa.field("n", pa.int32()), pa.field("more", pa.string(), nullable=False)])
    reasons = list(IcebergTable(database, NAME).create(wrong, ["more"]).mismatches(arrow_schema(SCHEMA), ()))
    assert [reason.split(":")[0] for reason in reasons] == [
        "its column `n` is int, and rows have bigint",
        "it has no column `city` UTF-8 text",
        "its column `more` UTF-8 text is in no row",
        "its partition columns are [more]",
    ]


def test_what_nobody_would_follow_is_refused(tmp_path: Path) -> None:
    schema = Schema(
        NestedField(1, "n", LongType()),
        NestedField(2, "city", StringType(), required=True),
        NestedField(3, "list", ListType(4, LongType(), element_required=True)),
        NestedField(5, "id", UUIDType()),
    )
    IcebergTable(database_in(tmp_path, tmp_path / "warehouse"), "sales.other").create(arrow_schema(SCHEMA), ())
    table = library_catalog(tmp_path).create_table(NAME, schema)
    with table.update_spec() as spec:
        spec.add_field("n", BucketTransform(4), "n_bucket")
    version = IcebergTable(database_in(tmp_path, tmp_path / "warehouse"), NAME).load()
    assert version is not None
    given = arrow_schema(parse_schema("n bigint, city string, list array<bigint>, id string"))
    assert [reason.split(",")[0] for reason in version.mismatches(given, ["n"])] == [
        "it is partitioned by bucket[4] of `n`",
        "its column `id` is uuid",
        "its column `city` must not be null",
        "values in its column `list` must not be null",
    ]


def test_a_partition_field_that_format_1_keeps_after_it_was_dropped_is_refused(tmp_path: Path) -> None:
    IcebergTable(database_in(tmp_path, tmp_path / "warehouse"), "sales.other").create(arrow_schema(SCHEMA), ())
    properties = {"format-version": "1"}
    schema = Schema(NestedField(1, "n", LongType()))
    table = library_catalog(tmp_path).create_table(NAME, schema, properties=properties)
    with table.update_spec() as spec:
        spec.add_identity("n")
    with table.update_spec() as spec:
        spec.remove_field("n")
    version = IcebergTable(database_in(tmp_path, tmp_path / "warehouse"), NAME).load()
    assert version is not None
    (reason,) = version.mismatches(arrow_schema(parse_schema("n bigint")), ())
    assert reason.startswith("its partition field `n` was dropped, which format version 1 keeps")


def test_a_catalog_that_is_none_or_not_there_is_told(tmp_path: Path) -> None:
    table = IcebergTable(database_in(tmp_path, tmp_path / "warehouse"), NAME)
    assert table.load() is None
    assert not (tmp_path / "catalog.db").exists()
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as other:
        other.execute("CREATE TABLE other (n INTEGER)")
    assert table.load() is None
    (tmp_path / "catalog.db").write_text("no database, but long enough to be one, were it not for what it begins with")
    with pytest.raises(StreamSystemError, match=r"can't be opened: catalog default of .*not a database"):
        table.load()


def test_a_table_whose_files_lie_elsewhere_is_refused(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.create()
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as catalog:
        catalog.execute("UPDATE iceberg_tables SET metadata_location = 's3://else/where.metadata.json'")
        catalog.commit()
    with pytest.raises(StreamSystemError, match=r"`s3://else/where\.metadata\.json` is not where warehouse .* is"):
        table.open(NAME).load()
