"""Changes of tables of Iceberg: what snapshots insert, update and delete, at offsets that stay."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import In
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from streamapp_systems.protocols import BadRecord, StreamSystemError
from support.changed_tables import ChangedTable, Row, keep_keys, read_again
from support.growing_iceberg import PLAIN, GrowingLake, ssp, stream
from support.iceberg_outputs import read_rows

COLUMNS = Schema(NestedField(1, "k", LongType()), NestedField(2, "v", IntegerType()), NestedField(3, "p", StringType()))
CHANGES = replace(stream("v int, k bigint, p string"), change_key=("k",))
STEPS = ("append", "delete", "upsert", "replace", "overwrite", "rewrite", "compact")


def rows_of(keys: list[int], value: int) -> pa.Table:
    """Give rows with these keys; the partition column is of the key."""
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "v": pa.array([value] * len(keys), pa.int32()),
            "p": pa.array([str(key % 2) for key in keys], pa.string()),
        }
    )


def lake_in(folder: Path, *, partitioned: bool) -> GrowingLake:
    """Create the table with eight rows, and the journal of its changes."""
    lake = GrowingLake(folder, schema=COLUMNS)
    if partitioned:
        with lake.table().update_spec() as spec:
            spec.add_identity("p")
    lake.table().append(rows_of([*range(8)], 0))
    lake.admin().create({CHANGES: 1})
    return lake


def read(lake: GrowingLake, start: int = 0, limit: int = 7) -> list[Row]:
    """Read the records from an offset on."""
    return lake.read({ssp(0): start}, CHANGES, limit)[ssp(0)]


def in_table(folder: Path) -> dict[object, Row]:
    """Give the rows of the table by their keys, as DuckDB reads them."""
    return {row["k"]: row for row in read_rows(folder).to_pylist()}


def change(lake: GrowingLake, folder: Path, what: str, data: st.DataObject, value: int) -> None:
    """Make the next snapshots of the table, whose new rows have a value of their own."""
    table, there = lake.table(), sorted(in_table(folder))
    some = data.draw(st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=6))
    match what:
        case "append":
            table.append(rows_of([key for key in some if key not in there], value))
        case "delete":
            table.delete(In("k", some))
        case "upsert":
            table.upsert(rows_of(some, value), join_cols=["k"])
        case "replace":
            table.overwrite(rows_of(some, value), overwrite_filter=In("k", some))
        case "overwrite":
            table.overwrite(rows_of(some, value))
        case "rewrite":
            lake.rewrite(rows_of(some, value))
        case _:
            lake.compact()


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_changes_make_the_table_and_stand_at_their_offsets(data: st.DataObject) -> None:
    values, known = count(1), list[Row]()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        lake = lake_in(place, partitioned=data.draw(st.booleans()))
        table = ChangedTable(
            read=lambda start, limit: read(lake, start, limit),
            end=lambda: lake.admin().end_offsets([CHANGES])[ssp(0)],
            rows=lambda: in_table(place),
        )
        for _ in range(data.draw(st.integers(1, 4))):
            known = read_again(table, known, data)
            what = data.draw(st.sampled_from(["rewrite", "compact"]))
            known = keep_keys(table, known, lambda what=what: change(lake, place, what, data, next(values)), data)
            for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=3)):
                change(lake, place, step, data, next(values))
        read_again(table, known, data)


def test_what_a_snapshot_removes_is_read_and_what_it_compacts_is_not(tmp_path: Path) -> None:
    lake = lake_in(tmp_path, partitioned=False)
    assert [(row["k"], row["__op"]) for row in read(lake)] == [(key, "u") for key in range(8)]
    lake.compact()
    assert read(lake, 8) == []
    lake.rewrite(rows_of([0, 9], 5))
    found = read(lake, 8)
    assert [record["k"] for record in found if record["__op"] == "d"] == [*range(1, 8)]
    assert [record for record in found if record["__op"] == "u"] == [
        {"v": 5, "k": 0, "p": "0", "__op": "u"},
        {"v": 5, "k": 9, "p": "1", "__op": "u"},
    ]
    assert len(found) == 8 + 2


def test_reading_changes_begins_with_what_a_snapshot_changes(tmp_path: Path) -> None:
    lake = lake_in(tmp_path, partitioned=False)
    lake.rewrite(rows_of([0], 5))
    later = replace(CHANGES, starting_version=2)
    lake.admin().create({later: 1})
    found = lake.read({ssp(0): 0}, later)[ssp(0)]
    assert [record["k"] for record in found if record["__op"] == "d"] == [*range(1, 8)]


def test_a_row_whose_key_is_null_is_a_bad_record(tmp_path: Path) -> None:
    lake = lake_in(tmp_path, partitioned=False)
    read(lake)
    lake.table().append(pa.table({"k": pa.array([None], pa.int64()), "v": pa.array([1], pa.int32()), "p": ["0"]}))
    with pytest.raises(BadRecord, match="its key is null") as found:
        read(lake, 8)
    assert found.value.offset == 8


def test_rows_that_are_only_marked_as_deleted_are_refused_by_name(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1, 2])
    of = replace(PLAIN, change_key=("k",))
    lake.admin().create({of: 1, PLAIN: 1})
    assert [lake.keys(each) for each in (of, PLAIN)] == [[1, 2], [1, 2]]
    lake.mark([2])
    number = lake.table().metadata.current_snapshot_id
    with pytest.raises(StreamSystemError, match=rf"snapshot {number} \(append\) marks rows as deleted.*\+changes\.db"):
        lake.keys(of)
    with pytest.raises(StreamSystemError, match=rf"snapshot {number} \(append\) changes or deletes rows"):
        lake.keys()
    (tmp_path / "journals" / "sales.t+changes.db").unlink()
    lake.admin().create({of: 1})
    with pytest.raises(StreamSystemError, match="rows are marked as deleted, which is not read"):
        lake.keys(of)
