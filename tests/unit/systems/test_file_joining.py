"""Small files of tables of Delta and Iceberg are joined: rows, marks and readers stay as they are."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import StringType

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.delta.delta_table import DeltaVersion
from streamapp_systems.iceberg import IcebergVersion
from streamapp_systems.tables import file_joining
from support import delta_outputs, growing_iceberg, growing_tables, iceberg_outputs
from support.growing_streams import ssp
from support.iceberg_outputs import NAME, library_catalog
from support.joined_files import join_all, join_beside_others, joiner, live, publish_each
from support.table_outputs import WrittenTable, rows

OPENED = {"delta": delta_outputs.table_in, "iceberg": iceberg_outputs.table_in}
both = pytest.mark.parametrize("opened", OPENED.values(), ids=OPENED)


def delta_rows(folder: Path) -> pa.Table:
    """Give the rows of the table, as DuckDB reads the files that the library says it has."""
    files = DeltaTable(folder / "t").file_uris()
    with duckdb.connect() as connection:
        return connection.sql("SELECT n FROM read_parquet($files)", params={"files": files}).to_arrow_table()


@both
@pytest.mark.parametrize("folders", [(), ("city",)])
def test_small_files_become_one_of_each_partition(tmp_path: Path, opened, folders) -> None:
    table = opened(tmp_path)
    table.create(folders)
    publish_each(table, range(15), folders)
    assert len(live(table)) == 15
    assert join_all(table) == 1
    assert (table.found(), len(live(table))) == (list(range(15)), 3 if folders else 1)
    publish_each(table, range(15, 18), folders)
    assert table.found() == list(range(18))
    assert join_all(table) == 0


def test_joined_files_are_a_version_of_delta_that_changes_no_row(tmp_path: Path) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create(("city",))
    publish_each(table, range(15), ("city",))
    join_all(table)
    assert delta_outputs.delta_table_in(tmp_path).history(1)[0]["operation"] == "OPTIMIZE"
    read = delta_rows(tmp_path).column("n").to_pylist()
    assert [[number for number in read if number % 3 == rest] for rest in range(3)] == [
        list(range(rest, 15, 3)) for rest in range(3)
    ]
    deleted = DeltaTable(tmp_path / "t").vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert (len(deleted), table.found()) == (15, list(range(15)))


def test_joined_files_are_a_replace_of_iceberg(tmp_path: Path) -> None:
    table = iceberg_outputs.table_in(tmp_path, keep=0)
    table.create()
    publish_each(table, range(6))
    publish_each(table, range(6, 7))
    join_all(table)
    found = library_catalog(tmp_path).load_table(NAME)
    summary = found.current_snapshot().summary
    assert (str(summary.operation.value), summary["total-records"], summary["total-data-files"]) == (
        "replace",
        "7",
        "1",
    )
    assert [entry["record_count"] for entry in found.inspect.files().to_pylist()] == [7]
    assert len([name for name in found.properties if name.startswith("streamapp.mark.")]) == 2


@pytest.mark.parametrize("behind", [True, False])
def test_a_reader_of_delta_finds_each_row_once(tmp_path: Path, behind) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    stream = growing_tables.stream("n bigint")
    growing_tables.admin(tmp_path).create({stream: 1})
    growing_tables.admin(tmp_path).end_offsets([stream])
    if not behind:
        growing_tables.read(tmp_path, {ssp(0): 0}, stream)
    publish_each(table, range(6, 9))
    join_all(table)
    publish_each(table, range(9, 10))
    found = growing_tables.read(tmp_path, {ssp(0): 0}, stream)[ssp(0)]
    assert [row["n"] for row in found] == list(range(10))


def test_a_reader_of_iceberg_finds_each_row_once(tmp_path: Path) -> None:
    table = iceberg_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    lake, stream = growing_iceberg.GrowingLake(tmp_path), growing_iceberg.stream("n bigint")
    lake.admin().create({stream: 1})
    read = [row["n"] for row in lake.read({ssp(0): 0}, stream)[ssp(0)]]
    publish_each(table, range(6, 9))
    join_all(table)
    publish_each(table, range(9, 10))
    assert read == list(range(6))
    assert [row["n"] for row in lake.read({ssp(0): 0}, stream)[ssp(0)]] == list(range(10))


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_files_of_delta_are_joined_beside_others(data) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)

        def append(expected: list[int]) -> list[int]:
            write_deltalake(root / "t", rows(1_000 + len(expected)), mode="append")
            return [*expected, 1_000 + len(expected)]

        def compact(expected: list[int]) -> list[int]:
            DeltaTable(root / "t").optimize.compact()
            return expected

        def delete(expected: list[int]) -> list[int]:
            DeltaTable(root / "t").delete(f"n = {expected[0]}" if expected else "n = -1")
            return expected[1:]

        others = {"append": append, "compact": compact, "delete": delete}
        join_beside_others(delta_outputs.table_in(root), data, others)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_files_of_iceberg_are_joined_beside_others(data) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)

        def append(expected: list[int]) -> list[int]:
            library_catalog(root).load_table(NAME).append(rows(1_000 + len(expected)))
            return [*expected, 1_000 + len(expected)]

        def delete(expected: list[int]) -> list[int]:
            if expected:
                library_catalog(root).load_table(NAME).delete(f"n = {expected[0]}")
            return expected[1:]

        keep = data.draw(st.sampled_from([None, 0]))
        join_beside_others(iceberg_outputs.table_in(root, keep=keep), data, {"append": append, "delete": delete})


@pytest.mark.parametrize("version_of, kind", [(DeltaVersion, "delta"), (IcebergVersion, "iceberg")])
def test_a_row_that_is_added_meanwhile_stays(tmp_path: Path, monkeypatch, version_of, kind) -> None:
    table = OPENED[kind](tmp_path)
    table.create()
    publish_each(table, range(6))
    replace, acted = version_of.replace, []

    def acting(version, old, new):
        if not acted:
            acted.append(1)
            publish_each(table, range(6, 7))
        return replace(version, old, new)

    monkeypatch.setattr(version_of, "replace", acting)
    assert join_all(table) == 1
    assert (table.found(), len(live(table))) == (list(range(7)), 2)


@both
def test_files_that_a_table_has_stay_whoever_commits_them_again(tmp_path: Path, opened) -> None:
    table = opened(tmp_path)
    table.create()
    publish_each(table, range(6))
    found = joiner(table)
    joined = found.write()
    assert [found.commit(joined), found.commit(joined)] == [True, True]
    assert (table.found(), len(live(table))) == (list(range(6)), 1)


@both
def test_files_of_a_table_with_another_column_are_left(tmp_path: Path, opened) -> None:
    table = opened(tmp_path)
    table.create()
    publish_each(table, range(6))
    add_column(tmp_path, "delta" if opened is OPENED["delta"] else "iceberg")
    assert join_all(table) == 0
    assert len(live(table)) == 6


def add_column(folder: Path, kind: str) -> None:
    """Add the column `more` to the table."""
    if kind == "delta":
        none = rows(0).slice(0, 0).append_column("more", pa.array([], pa.string()))
        write_deltalake(folder / "t", none, mode="append", schema_mode="merge")
        return
    with library_catalog(folder).load_table(NAME).update_schema() as update:
        update.add_column("more", StringType())


def test_files_are_left_whose_columns_were_renamed(tmp_path: Path) -> None:
    table = iceberg_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    with library_catalog(tmp_path).load_table(NAME).update_schema() as update:
        update.rename_column("city", "town")
    assert join_all(table) == 0
    with library_catalog(tmp_path).load_table(NAME).update_schema() as update:
        update.rename_column("town", "city")
    assert join_all(table) == 1


def test_files_are_left_of_a_table_with_rules(tmp_path: Path) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    delta_outputs.delta_table_in(tmp_path).alter.add_constraint({"large": "n >= 0"})
    assert join_all(table) == 0


def test_files_are_left_of_a_table_with_rows_that_are_marked_as_deleted(tmp_path: Path) -> None:
    lake = growing_iceberg.GrowingLake(tmp_path)
    for number in range(6):
        lake.append([number])
    lake.mark([7])
    table = iceberg_outputs.table_in(tmp_path)
    assert live(table) == []


def test_files_that_become_no_fewer_are_dropped(tmp_path: Path, monkeypatch) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    before = sorted((tmp_path / "t").rglob("*.parquet"))
    monkeypatch.setattr("streamapp_systems.tables.table_files.LARGEST_FILE", 0)
    assert join_all(table) == 0
    assert sorted((tmp_path / "t").rglob("*.parquet")) == before


def test_files_are_left_when_one_is_gone_before_it_is_read(tmp_path: Path, monkeypatch) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create()
    publish_each(table, range(6))
    found, rows_of = joiner(table), file_joining._rows

    def reading(files, columns):
        files[3].place.unlink()
        return rows_of(files, columns)

    monkeypatch.setattr(file_joining, "_rows", reading)
    assert found.write() is None
    assert list((tmp_path / "t").glob("part-joined*")) == []


def test_checkpoints_of_delta_go_on(tmp_path: Path) -> None:
    table = delta_outputs.table_in(tmp_path)
    table.create()
    DeltaTable(tmp_path / "t").alter.set_table_properties({"delta.checkpointInterval": "9"})
    publish_each(table, range(6))
    join_all(table)
    assert [path.name for path in (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")] == [
        f"{8:020}.checkpoint.parquet"
    ]
    assert table.found() == list(range(6))


NASTY = (
    "n bigint, city string, d decimal(20,3), a array<struct<x:int,y:array<string>>>, m map<string,struct<z:date>>, "
    "t timestamp, u timestamp_ntz, b binary, f float, `ä b` boolean"
)


@both
def test_values_of_all_types_stay_as_they_are(
    tmp_path: Path, monkeypatch, opened: Callable[[Path], WrittenTable]
) -> None:
    schema = parse_schema(NASTY)
    monkeypatch.setattr("support.table_outputs.SCHEMA", schema)
    table = opened(tmp_path)
    table.open(table.address).create(arrow_schema(schema), ())
    output = table.opened(1)
    made = []
    for number in range(7):
        row = {"n": number, "city": None if number % 2 else "", "d": Decimal(number) / 8, "t": number, "u": -number}
        row |= {"a": [{"x": None, "y": ["", None]}], "m": [("k", None), ("", {"z": None})]}
        row |= {"b": b"\x00\xff", "f": float("nan"), "ä b": None}
        made.append(pa.Table.from_pylist([row, dict.fromkeys(row) | {"n": -number}], arrow_schema(schema)))
        output.write("out", made[-1])
        output.publish(output.stage())
    (place, _), *_ = live(table)
    before = pq.read_schema(place)
    assert join_all(table) == 1
    ((joined, _),) = live(table)
    read = pq.read_table(joined, partitioning=None)
    assert str(read.cast(arrow_schema(schema)).to_pylist()) == str(pa.concat_tables(made).to_pylist())
    assert pq.read_schema(joined).equals(before, check_metadata=True)
