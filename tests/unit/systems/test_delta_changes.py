"""Changes of tables of Delta: what versions insert, update and delete, at offsets that stay."""

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.folder import growing_tables
from streamapp_systems.protocols import BadRecord, StreamDescriptor, StreamSystemError
from support import growing_streams
from support.changed_tables import ChangedTable, Row, keep_keys, read_again
from support.growing_streams import ssp
from support.growing_tables import admin, stream

CHANGES = replace(stream("v int, k bigint, p string"), change_key=("k",))
FEED = {"delta.enableChangeDataFeed": "true"}
STEPS = ("append", "update", "move", "delete", "merge", "overwrite", "replace", "compact")


def rows_of(keys: list[int], value: int) -> pa.Table:
    """Give rows with these keys; the partition column is of the key."""
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "v": pa.array([value] * len(keys), pa.int32()),
            "p": pa.array([str(key % 2) for key in keys], pa.string()),
        }
    )


def write(root: Path, rows: pa.Table, mode: Literal["append", "overwrite"] = "append") -> None:
    """Write rows as the next version."""
    write_deltalake(root / "t", rows, mode=mode)


def create(root: Path, *, feed: bool = True) -> DeltaTable:
    """Create the table."""
    schema = rows_of([], 0).schema
    return DeltaTable.create(root / "t", schema, partition_by=["p"], configuration=FEED if feed else None)


def read(root: Path, start: int = 0, of: StreamDescriptor = CHANGES, limit: int = 7) -> list[Row]:
    """Read the records from an offset on, those that are no changes, too."""
    return growing_streams.read_growing(growing_tables(root, None), of, {ssp(0): start}, limit)[ssp(0)]


def in_table(root: Path) -> dict[object, Row]:
    """Give the rows of the table by their keys, as the library reads them."""
    return {row["k"]: row for row in DeltaTable(root / "t").to_pyarrow_table().to_pylist()}


def change(root: Path, data: st.DataObject, value: int) -> None:
    """Make the next version of the table, whose new rows have a value of their own."""
    table = DeltaTable(root / "t")
    there = sorted(in_table(root))
    some = data.draw(st.lists(st.integers(0, 20), unique=True, max_size=6))
    listed = f"k in ({', '.join(map(str, some))})"
    match data.draw(st.sampled_from(STEPS)):
        case "append":
            write_deltalake(table, rows_of([key for key in some if key not in there], value), mode="append")
        case "update" if some:
            table.update({"v": f"cast({value} as int)"}, predicate=listed)
        case "move" if some:
            table.update({"k": f"k + {100 * value}", "v": f"cast({value} as int)"}, predicate=listed)
        case "delete":
            table.delete(data.draw(st.sampled_from([listed, "p = '1'", None])) if some else None)
        case "merge":
            merged = table.merge(rows_of(some, value), "t.k = s.k", "s", "t")
            merged = merged.when_matched_delete("s.k % 3 = 0").when_matched_update_all()
            merged.when_not_matched_insert_all().execute()
        case "overwrite":
            write_deltalake(table, rows_of(some, value), mode="overwrite")
        case "replace":
            odd = rows_of([key for key in some if key % 2], value)
            write_deltalake(table, odd, mode="overwrite", predicate="p = '1'")
        case _:
            table.optimize.compact()


@settings(max_examples=25)
@given(st.data())
def test_changes_make_the_table_and_stand_at_their_offsets(data: st.DataObject) -> None:
    values, known = count(1), list[Row]()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        create(root, feed=data.draw(st.booleans()))
        write(root, rows_of([*range(8)], 0))
        admin(root).create({CHANGES: 1})
        table = ChangedTable(
            read=lambda start, limit: read(root, start, limit=limit),
            end=lambda: admin(root).end_offsets([CHANGES])[ssp(0)],
            rows=lambda: in_table(root),
        )
        for _ in range(data.draw(st.integers(1, 5))):
            known = read_again(table, known, data)
            known = keep_keys(table, known, lambda: change(root, data, next(values)), data)
            for _ in range(data.draw(st.integers(0, 3))):
                change(root, data, next(values))
        read_again(table, known, data)


def test_the_feed_is_read_where_there_is_one_and_whole_files_elsewhere(tmp_path: Path) -> None:
    for name, feed, records in (("with", True, 2), ("without", False, 5)):
        root = tmp_path / name
        create(root, feed=feed)
        write(root, rows_of([1, 3, 5], 0))
        admin(root).create({CHANGES: 1})
        assert len(read(root)) == 3
        DeltaTable(root / "t").delete("k = 3")
        later = read(root, 3)
        assert len(later) == (1 + 1 if feed else 3 + 2) == records
        assert [record for record in later if record["__op"] == "d"] == [{"k": 3, "v": None, "p": None, "__op": "d"}]


def test_a_row_whose_key_is_null_is_a_bad_record_and_its_deletion_nothing(tmp_path: Path) -> None:
    create(tmp_path)
    nobody = pa.table({"k": pa.array([None], pa.int64()), "v": pa.array([0], pa.int32()), "p": ["0"]})
    write(tmp_path, rows_of([2], 0))
    admin(tmp_path).create({CHANGES: 1})
    read(tmp_path)
    write(tmp_path, nobody)
    write(tmp_path, rows_of([4], 0))
    with pytest.raises(BadRecord, match="its key is null") as found:
        read(tmp_path, 1)
    assert found.value.offset == 1
    assert [row["k"] for row in read(tmp_path, 2)] == [4]
    DeltaTable(tmp_path / "t").delete()
    assert sorted(row["k"] for row in read(tmp_path, 3) if row["__op"] == "d") == [2, 4]


def test_a_key_of_several_columns_may_have_one_that_is_a_folder(tmp_path: Path) -> None:
    both = replace(CHANGES, change_key=("p", "k"))
    create(tmp_path)
    write(tmp_path, rows_of([1, 2], 0))
    admin(tmp_path).create({both: 1})
    read(tmp_path, of=both)
    DeltaTable(tmp_path / "t").update({"p": "'9'"}, predicate="k = 2")
    changes = [(row["p"], row["k"], row["__op"]) for row in read(tmp_path, 2, both) if row["__op"]]
    assert changes == [("0", 2, "d"), ("9", 2, "u")]


def test_changes_and_rows_that_are_appended_have_journals_of_their_own(tmp_path: Path) -> None:
    create(tmp_path)
    write(tmp_path, rows_of([1, 2], 0))
    appended = replace(CHANGES, change_key=())
    admin(tmp_path).create({CHANGES: 1, replace(appended, name="other"): 2})
    assert {path.name for path in (tmp_path / "_streamapp").glob("*.db")} == {"t.db", "t+changes.db"}
    assert len(read(tmp_path)) == 2


def test_a_file_with_deleted_rows_that_was_vacuumed_first_is_an_error(tmp_path: Path) -> None:
    create(tmp_path, feed=False)
    write(tmp_path, rows_of([1, 2], 0))
    admin(tmp_path).create({CHANGES: 1})
    read(tmp_path)
    table = DeltaTable(tmp_path / "t")
    table.delete("k = 2")
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(StreamSystemError, match="If it was vacuumed"):
        read(tmp_path, 2)


def test_a_removed_file_of_which_the_partition_is_not_said_is_an_error(tmp_path: Path) -> None:
    create(tmp_path, feed=False)
    write(tmp_path, rows_of([1, 2], 0))
    admin(tmp_path).create({CHANGES: 1})
    read(tmp_path)
    DeltaTable(tmp_path / "t").delete("k = 2")
    commit = tmp_path / "t" / "_delta_log" / f"{2:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        action.get("remove", {}).pop("partitionValues", None)
    commit.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(
        StreamSystemError, match=r"version 2 of table .* does not say of which partition.*\+changes\.db"
    ):
        read(tmp_path, 2)


def test_deletion_vectors_are_refused_unless_the_feed_has_what_they_delete(tmp_path: Path) -> None:
    for feed in (True, False):
        root = tmp_path / str(feed)
        create(root, feed=feed)
        write(root, rows_of([1, 3], 0))
        admin(root).create({CHANGES: 1})
        read(root)
        DeltaTable(root / "t").update({"v": "cast(7 as int)"}, predicate="k = 1")
        commit = root / "t" / "_delta_log" / f"{2:020}.json"
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["deletionVector"] = {"storageType": "u"}
        commit.write_text("\n".join(map(json.dumps, actions)))
        if feed:
            assert [row["k"] for row in read(root, 2) if row["__op"]] == [1]
        else:
            with pytest.raises(StreamSystemError, match="deletion vectors"):
                read(root, 2)
