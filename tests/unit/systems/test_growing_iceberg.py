"""Tables of Iceberg that grow: the rows of every snapshot once, at the same offsets, whatever is compacted."""

import json
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, IntegerType, LongType, NestedField, StringType, StructType, UUIDType

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.folder.admin import open_journal
from streamapp_systems.iceberg.iceberg_rows import IcebergRows
from streamapp_systems.iceberg.iceberg_types import FIELD_ID
from streamapp_systems.protocols import StreamSystemError
from support.growing_iceberg import PLAIN, GrowingLake, grow_and_read, ssp, stream


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_every_row_is_found_once_and_always_at_its_offset(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        grow_and_read(GrowingLake(Path(folder)), data)


def test_what_snapshots_add_follows_what_the_table_had(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == []
    lake.append([1, 3])
    lake.append([5])
    first = lake.keys()
    assert first == [1, 3, 5]
    lake.compact()
    lake.append([9])
    lake.append([2])
    assert lake.keys() == [*first, 9, 2]
    assert lake.admin().start_offsets([PLAIN]) == {ssp(0): 0}


@pytest.mark.parametrize(("starting", "expected"), [(None, [1, 2, 3]), (1, [1, 2, 3]), (3, [3]), (4, [])])
def test_reading_begins_where_it_is_asked_to(tmp_path: Path, starting, expected) -> None:
    lake = GrowingLake(tmp_path)
    for value in (1, 2, 3):
        lake.append([value])
    of = stream(starting_version=starting)
    lake.admin().create({of: 1})
    assert lake.keys(of) == expected
    lake.append([4])
    assert lake.keys(of) == [*expected, 4]


def test_a_start_that_is_not_there_is_refused(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1])
    of = stream(starting_version=9)
    lake.admin().create({of: 1})
    with pytest.raises(StreamSystemError, match=r"has no snapshot with the sequence number 9, .* up to 1 that"):
        lake.keys(of)


def test_columns_are_found_by_their_ids(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1])
    with lake.table().update_schema() as schema:
        schema.rename_column("k", "key")
    with lake.table().update_schema(allow_incompatible_changes=True) as schema:
        schema.delete_column("p")
    with lake.table().update_schema() as schema:
        schema.add_column("p", StringType())
        schema.add_column("k", LongType())
        schema.update_column("key", LongType())
    rows = pa.table({"key": pa.array([2], pa.int64()), "p": ["new"], "k": pa.array([7], pa.int64())})
    lake.table().append(rows)
    of = stream("key bigint, p string, k bigint")
    lake.admin().create({of: 1})
    assert lake.read({ssp(0): 0}, of)[ssp(0)] == [
        {"key": 1, "p": None, "k": None},
        {"key": 2, "p": "new", "k": 7},
    ]


def test_parts_of_columns_that_were_renamed_are_refused(tmp_path: Path) -> None:
    part = StructType(NestedField(2, "x", IntegerType()))
    lake = GrowingLake(tmp_path, schema=Schema(NestedField(1, "s", part)))
    lake.table().append(pa.table({"s": pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))}))
    of = stream("s struct<x:int>")
    lake.admin().create({of: 1})
    assert lake.read({ssp(0): 0}, of)[ssp(0)] == [{"s": {"x": 1}}]
    with lake.table().update_schema() as schema:
        schema.rename_column(("s", "x"), "y")
    with pytest.raises(StreamSystemError, match=r"`s.x` of the table is another field there, which was renamed"):
        lake.read({ssp(0): 0}, stream("s struct<y:int>"))


def test_files_without_ids_are_read_by_the_names_that_columns_had(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    pq.write_table(pa.table({"k": pa.array([2], pa.int32()), "p": ["x"]}), tmp_path / "plain.parquet")
    lake.table().add_files([f"file://{tmp_path / 'plain.parquet'}"])
    with lake.table().update_schema() as schema:
        schema.rename_column("k", "key")
    of = stream("key int, p string")
    lake.admin().create({of: 1})
    assert lake.read({ssp(0): 0}, of)[ssp(0)] == [{"key": 2, "p": "x"}]


def test_columns_that_a_file_lacks_have_the_values_of_its_partition(tmp_path: Path) -> None:
    """Files of tables that were Hive's lack them."""
    values = {
        "day": ("date", 19_844, date(2024, 5, 1)),
        "at": ("timestamp", 1, datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        "d": ("decimal(5,2)", "1.50", Decimal("1.50")),
        "city": ("string", "", ""),
        "code": ("binary", "/wA=", b"\xff\0"),
        "none": ("int", None, None),
    }
    schema = arrow_schema(parse_schema("k int," + ",".join(f"{name} {kind}" for name, (kind, _, _) in values.items())))
    columns = [field.with_metadata({FIELD_ID: str(number)}) for number, field in enumerate(schema, 1)]
    path = tmp_path / "1.parquet"
    pq.write_table(pa.table({"k": pa.array([7, 8], pa.int32())}), path)
    given = {str(number): found for number, (_, found, _) in enumerate(values.values(), 2)}
    (rows,) = IcebergRows(columns=pa.schema(columns), names={}, values=given).read(path, schema, 1)
    assert rows.to_pylist() == [{"k": 8} | {name: value for name, (_, _, value) in values.items()}]


@pytest.mark.parametrize("what", ["delete", "overwrite"])
def test_what_changes_rows_is_refused_by_its_name(tmp_path: Path, what) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1, 2])
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == [1, 2]
    if what == "delete":
        lake.table().delete("k = 1")
    else:
        lake.table().overwrite(pa.table({"k": pa.array([7], pa.int32()), "p": ["x"]}))
    snapshot = lake.table().snapshots()[1]
    with pytest.raises(StreamSystemError, match=rf"snapshot {snapshot.snapshot_id} \(\w+\) changes or deletes rows"):
        lake.keys()


def test_snapshots_that_have_expired_unread_are_told(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1])
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == [1]
    for value in (2, 3):
        lake.append([value])
    first, second, _ = lake.table().snapshots()
    lake.table().maintenance.expire_snapshots().by_ids([first.snapshot_id, second.snapshot_id]).commit()
    with pytest.raises(StreamSystemError, match=f"snapshots behind {first.snapshot_id}, up to which .* have expired"):
        lake.keys()


def test_a_table_that_was_empty_is_read_as_it_is_once_it_is_not(tmp_path: Path) -> None:
    """The rows of snapshots that have expired by then are in the files of the next one."""
    lake = GrowingLake(tmp_path)
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == []
    for value in (1, 2, 3):
        lake.append([value])
    first, *_ = lake.table().snapshots()
    lake.table().maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    assert lake.keys() == [1, 2, 3]


def test_a_table_that_was_empty_is_read_where_snapshots_name_one_that_has_expired(tmp_path: Path) -> None:
    """Spark leaves the ids of parents, which pyiceberg takes away."""
    lake = GrowingLake(tmp_path)
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == []
    for value in (1, 2, 3):
        lake.append([value])
    metadata = Path(lake.table().metadata_location.removeprefix("file://"))
    document = json.loads(metadata.read_bytes())
    del document["snapshots"][0]
    metadata.write_text(json.dumps(document))
    assert lake.keys() == [1, 2, 3]


def test_a_column_that_goes_before_files_are_read_is_told(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1])
    of = stream("k int, p string")
    lake.admin().create({of: 1})
    assert lake.admin().end_offsets([of]) == {ssp(0): 1}
    seen = lake.streams(of)
    with lake.table().update_schema(allow_incompatible_changes=True) as schema:
        schema.delete_column("p")
    with closing(open_journal(seen)) as journal:
        file = journal.find(0, 0)
        assert file is not None
        with pytest.raises(StreamSystemError, match="the table has no column `p`"):
            seen.format(journal, file.file)


def test_partitions_of_bytes_are_passed(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path, schema=Schema(NestedField(1, "k", IntegerType()), NestedField(2, "b", BinaryType())))
    with lake.table().update_spec() as spec:
        spec.add_identity("b")
    lake.table().append(pa.table({"k": pa.array([1, 2], pa.int32()), "b": [b"\xff\0", None]}))
    lake.admin().create({PLAIN: 1})
    assert sorted(map(str, lake.keys())) == ["1", "2"]


def test_a_table_that_was_rolled_back_or_made_again_is_refused(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.append([1])
    lake.append([2])
    lake.admin().create({PLAIN: 1})
    assert lake.keys() == [1, 2]
    first, second = lake.table().snapshots()
    lake.table().manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    with pytest.raises(StreamSystemError, match=f"does not follow snapshot {second.snapshot_id} any more"):
        lake.keys()
    lake.drop()
    GrowingLake(tmp_path)
    with pytest.raises(StreamSystemError, match="is another one than the one whose files journal"):
        lake.keys()


def test_columns_that_a_table_has_otherwise_are_told(tmp_path: Path) -> None:
    schema = Schema(
        NestedField(1, "k", StringType()), NestedField(2, "id", UUIDType()), NestedField(3, "n", LongType())
    )
    lake = GrowingLake(tmp_path, schema=schema)
    found = lake.streams(stream("k int, id string, N bigint")).mismatches()
    assert found == [
        "column `k` is string in the table, not int",
        "column `id` is uuid in the table, which is not read: leave it out",
        "the table has no column `N`: it is written `n` there",
    ]


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    lake = GrowingLake(tmp_path)
    lake.drop()
    with pytest.raises(StreamSystemError, match=r"table sales.t is not in its catalog"):
        lake.admin().create({PLAIN: 1})


def test_values_of_partitions_are_read(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "k", IntegerType()), NestedField(2, "day", StringType()))
    lake = GrowingLake(tmp_path, schema=schema)
    with lake.table().update_spec() as spec:
        spec.add_identity("day")
    days = [str(date(2024, 5, 1)), None, ""]
    lake.table().append(pa.table({"k": pa.array([1, 2, 3], pa.int32()), "day": days}))
    of = stream("k int, day string")
    lake.admin().create({of: 1})
    found = lake.read({ssp(0): 0}, of)[ssp(0)]
    assert sorted(found, key=lambda row: row["k"]) == [
        {"k": k, "day": day} for k, day in zip([1, 2, 3], days, strict=True)
    ]
