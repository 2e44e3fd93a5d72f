"""Tables of Delta that grow: the rows of every version once, at the same offsets, whatever is compacted."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import AddAction
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.folder import GrowingTable
from streamapp_systems.folder.delta_log import DeltaLog, TableMetadata
from streamapp_systems.folder.delta_rows import DeltaRows, table_mismatches
from streamapp_systems.folder.file_journal import FileJournal
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from support.growing_tables import PLAIN, admin, append, grow_and_read, keys, read, ssp, stream


@settings(max_examples=25)
@given(st.data())
def test_every_row_is_found_once_and_always_at_its_offset(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        grow_and_read(Path(folder), data)


def test_what_versions_add_follows_what_the_table_had(tmp_path: Path) -> None:
    append(tmp_path, [1, 3])
    append(tmp_path, [5, 7])
    DeltaTable(tmp_path / "t").delete("k = 3")
    admin(tmp_path).create({PLAIN: 1})
    first = keys(tmp_path)
    assert sorted(first) == [1, 5, 7]
    append(tmp_path, [9])
    append(tmp_path, [2])
    assert keys(tmp_path) == [*first, 9, 2]
    assert admin(tmp_path).start_offsets([PLAIN]) == {ssp(0): 0}


def test_partition_columns_and_columns_that_came_later_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    old = pa.table({"k": pa.array([1], pa.int32()), "day": ["a b/ü"]})
    write_deltalake(folder, old, partition_by=["day"])
    new = pa.table(
        {"k": pa.array([2], pa.int32()), "day": pa.array([None], pa.string()), "n": pa.array([5], pa.int64())}
    )
    write_deltalake(folder, new, mode="append", partition_by=["day"], schema_mode="merge")
    whole, only = stream("n bigint, day string, k int"), stream("day string")
    admin(tmp_path).create({whole: 1})
    assert read(tmp_path, {ssp(0): 0}, whole)[ssp(0)] == [
        {"n": None, "day": "a b/ü", "k": 1},
        {"n": 5, "day": None, "k": 2},
    ]
    assert read(tmp_path, {ssp(0): 0}, only)[ssp(0)] == [{"day": "a b/ü"}, {"day": None}]


@pytest.mark.parametrize("operation", ["delete", "update", "overwrite"])
def test_versions_that_change_rows_are_refused_by_name(tmp_path: Path, operation: str) -> None:
    append(tmp_path, [1, 3, 5])
    admin(tmp_path).create({PLAIN: 1})
    assert sorted(keys(tmp_path)) == [1, 3, 5]
    table = DeltaTable(tmp_path / "t")
    if operation == "delete":
        table.delete("k = 3")
    elif operation == "update":
        table.update({"k": "k + 1"}, predicate="k = 3")
    else:
        write_deltalake(tmp_path / "t", pa.table({"k": pa.array([2], pa.int32()), "p": ["0"]}), mode="overwrite")
    with pytest.raises(
        StreamSystemError, match=r"version 1 of table .*/t \((DELETE|UPDATE|WRITE)\) changes or deletes"
    ):
        read(tmp_path, {ssp(0): 0})
    (tmp_path / "_streamapp" / "t.db").unlink()
    admin(tmp_path).create({PLAIN: 1})
    assert len(keys(tmp_path)) == {"delete": 2, "update": 3, "overwrite": 1}[operation]


def test_a_stream_may_begin_with_a_version(tmp_path: Path) -> None:
    for value in (1, 3, 5):
        append(tmp_path, [value])
    later = stream(starting_version=1)
    admin(tmp_path).create({later: 1})
    assert keys(tmp_path, later) == [3, 5]
    with pytest.raises(StreamSystemError, match=r"counted its files as .*1.*the spec says .*null"):
        read(tmp_path, {ssp(0): 0})
    (tmp_path / "_streamapp" / "t.db").unlink()
    future = stream(starting_version=4)
    admin(tmp_path).create({future: 1})
    with pytest.raises(StreamSystemError, match="has no version 4, but 2"):
        read(tmp_path, {ssp(0): 0}, future)


def test_a_table_that_was_made_again_is_refused(tmp_path: Path) -> None:
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    assert keys(tmp_path) == [1]
    (tmp_path / "t").rename(tmp_path / "old")
    for value in (1, 3):
        append(tmp_path, [value])
    with pytest.raises(StreamSystemError, match="is another table than the one whose files journal"):
        read(tmp_path, {ssp(0): 1})


def test_a_table_that_is_made_again_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """Its versions have the same numbers, so they don't say that its rows were never read."""
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    files = GrowingTable(tmp_path, tmp_path / "_streamapp", PLAIN)
    with closing(FileJournal(files.journal_path)) as journal:
        files.look(journal, [0], lambda: False)
        append(tmp_path, [3])
        files.look(journal, [0], lambda: False)
        (tmp_path / "t").rename(tmp_path / "old")
        for value in (5, 7):
            append(tmp_path, [value])
        with pytest.raises(StreamSystemError, match="is another table than the one whose files journal"):
            files.look(journal, [0], lambda: False)


def test_a_file_that_was_vacuumed_before_it_was_read_is_named(tmp_path: Path) -> None:
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    assert keys(tmp_path) == [1]
    append(tmp_path, [3])
    assert admin(tmp_path).end_offsets([PLAIN]) == {ssp(0): 2}
    table = DeltaTable(tmp_path / "t")
    table.optimize.compact()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(StreamSystemError, match="If it was vacuumed, "):
        read(tmp_path, {ssp(0): 1})


def test_a_version_that_is_gone_from_the_log_is_named(tmp_path: Path) -> None:
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    assert keys(tmp_path) == [1]
    for value in (3, 5):
        append(tmp_path, [value])
    DeltaTable(tmp_path / "t").create_checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(StreamSystemError, match="version 1 is gone from its log"):
        read(tmp_path, {ssp(0): 0})


@pytest.mark.parametrize("column, of", [("K", PLAIN), ("P", stream("k int, p string"))])
def test_a_column_of_another_case_in_a_file_is_not_null(tmp_path: Path, column: str, of: StreamDescriptor) -> None:
    file = DeltaRows({"P" if column == "P" else "p": "1"})
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"K" if column == "K" else "k": pa.array([1], pa.int32())}), path)
    assert of.schema is not None
    with pytest.raises(StreamSystemError, match=f"is written `{column}` there"):
        list(file.read(path, arrow_schema(of.schema), 0))


def test_a_file_that_is_added_twice_is_refused(tmp_path: Path) -> None:
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    assert keys(tmp_path) == [1]
    table = DeltaTable(tmp_path / "t")
    (path,) = table.file_uris()
    name = str(Path(path).relative_to(tmp_path / "t"))
    again = AddAction(name, Path(path).stat().st_size, {"p": "1"}, 0, data_change=True, stats="{}")
    table.create_write_transaction([again], "append", table.schema(), ["p"], commit_properties=CommitProperties())
    with pytest.raises(StreamSystemError, match=r"version 1 adds p=1/.* again"):
        read(tmp_path, {ssp(0): 0})


@pytest.mark.parametrize(
    "action, reason",
    [
        ({"protocol": {"minReaderVersion": 3, "readerFeatures": ["v2Checkpoint"]}}, "readers need v2Checkpoint"),
        ({"protocol": {"minReaderVersion": 4}}, "a newer version of the protocol"),
        ({"metaData": {"configuration": {"delta.columnMapping.mode": "name"}}}, "column mapping"),
        ({"add": {"path": "x.parquet", "deletionVector": {"storageType": "u"}}}, "deletion vectors"),
        ({"add": {"path": "s3://b/x.parquet"}}, "lies in another place"),
        ({"add": {"path": None}}, "is not as Delta's are"),
        ({"metaData": {"schemaString": '{"fields":[{"name":"K","type":"integer"}]}'}}, "it is written `K` there"),
    ],
)
def test_what_readers_would_need_and_have_not_is_refused(tmp_path: Path, action: dict, reason: str) -> None:
    append(tmp_path, [1])
    admin(tmp_path).create({PLAIN: 1})
    assert keys(tmp_path) == [1]
    ((name, value),) = action.items()
    log = tmp_path / "t" / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    found = next(line[name] for line in first if name in line)
    (log / f"{1:020}.json").write_text(json.dumps({name: found | value}) + "\n")
    with pytest.raises(StreamSystemError, match=reason):
        read(tmp_path, {ssp(0): 0})


@pytest.mark.parametrize(
    "declared, reasons",
    [
        ("k int, p string", []),
        ("k bigint, p string", []),
        ("p int", ["column `p` is string in the table, not int"]),
        ("k timestamp", ["column `k` is int in the table, not timestamp"]),
        ("k string", ["column `k` is int in the table, not string"]),
        ("k boolean, x int", ["column `k` is int", "the table has no column `x`: it has `k`, `p`"]),
        ("K int", ["no column `K`: it is written `k` there"]),
    ],
)
def test_columns_are_those_of_the_table(tmp_path: Path, declared: str, reasons: list[str]) -> None:
    append(tmp_path, [1])
    found = GrowingTable(tmp_path, tmp_path, stream(declared)).mismatches()
    assert len(found) == len(reasons)
    assert all(reason in each for reason, each in zip(reasons, found, strict=True))


def test_nested_types_are_those_of_the_table(tmp_path: Path) -> None:
    inner = pa.struct([("a", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.float64()))])
    values = pa.array([{"a": [1], "m": [("x", 1.5)]}], inner)
    nested = pa.table({"s": values, "d": pa.array([None], pa.decimal128(10, 2))})
    write_deltalake(tmp_path / "t", nested)
    declared = stream("s struct<a:array<bigint>,m:map<string,double>>, d decimal(10,2)")
    assert GrowingTable(tmp_path, tmp_path, declared).mismatches() == []
    admin(tmp_path).create({declared: 1})
    assert read(tmp_path, {ssp(0): 0}, declared)[ssp(0)] == [{"s": {"a": [1], "m": [("x", 1.5)]}, "d": None}]


@pytest.mark.parametrize("kind", ["interval day", "void", {"type": "udt"}])
def test_a_column_of_a_type_that_is_not_read_is_refused(kind: object) -> None:
    fields = [{"name": "k", "type": kind}, {"name": "n", "type": "integer"}]
    table = TableMetadata(id="a", schema=json.dumps({"fields": fields}), partition_columns=())
    assert list(table_mismatches(parse_schema("n int"), table)) == []
    (reason,) = table_mismatches(parse_schema("k int, n int"), table)
    assert reason.startswith("column `k` is ")
    assert reason.endswith("which is not read: leave it out")
    with pytest.raises(StreamSystemError, match="the schema of table a is not as Delta's are"):
        list(table_mismatches(parse_schema("n int"), replace(table, schema="{}")))


def test_a_commit_that_is_nested_too_deep_is_named(tmp_path: Path) -> None:
    append(tmp_path, [1])
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").write_text("[" * 100_000)
    with pytest.raises(StreamSystemError, match="can't be read"):
        DeltaLog(tmp_path / "t").commit(1)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"there is no table of Delta at [^:]*/t \(No such file"):
        admin(tmp_path).partitions([PLAIN])
