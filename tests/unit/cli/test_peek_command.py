"""What `streamapp peek` prints of streams in logs and files: decoded rows, deletions, and what can't be read."""

import json
import os
from contextlib import closing

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.folder import FolderAdmin, growing_folders, growing_tables
from streamapp_systems.protocols import StreamDescriptor
from support import apps, json_logs


def document(**streams):
    """Give an app that counts the rows of `orders`, of the log, into `counts`."""
    made = apps.document(
        [
            {"name": "by-k", "from": "orders", "partitionBy": {"key": "k"}},
            {"name": "counted", "from": "by-k", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
            {"name": "sent", "from": "counted", "sendTo": "counts"},
        ],
        job={"intermediateStreamPartitions": 1},
    )
    made["spec"]["streams"] = {
        "orders": {"system": "log", "schema": "k string, a int", "bounded": True},
        "counts": {"system": "log", "key": "k", "partitions": 1},
        **streams,
    }
    return made


def peek(folder, stream, *options, made=None, code=0):
    (folder / "app.yaml").write_text(json.dumps(made or document()))
    result = CliRunner().invoke(app, ["peek", str(folder / "app.yaml"), stream, *options])
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.output.splitlines()] if code == 0 else result.output


def places(records):
    return [(record["partition"], record["offset"]) for record in records]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=3), rows=st.integers(1, 4), data=st.data())
def test_the_last_records_of_each_partition_or_those_from_an_offset_on(tmp_path_factory, sizes, rows, data):
    folder = tmp_path_factory.mktemp("app")
    written = [(at, "x", {"k": "x", "a": n}) for at, size in enumerate(sizes) for n in range(size)]
    json_logs.write(folder, "orders", len(sizes), written)
    last = peek(folder, "orders", "--rows", str(rows))
    assert places(last) == [(at, n) for at, size in enumerate(sizes) for n in range(max(0, size - rows), size)]
    assert all(record["row"] == {"k": "x", "a": record["offset"]} for record in last)
    partition, offset = data.draw(st.integers(0, len(sizes) - 1)), data.draw(st.integers(0, 8))
    options = ["--rows", str(rows), "--partition", str(partition), "--offset", str(offset)]
    first = peek(folder, "orders", *options)
    assert places(first) == [(partition, n) for n in range(sizes[partition]) if offset <= n < offset + rows]


def test_a_history_of_changes_says_which_rows_delete(tmp_path):
    history = document(
        orders={"system": "log", "schema": "k string, a int", "key": "a", "keyFormat": "int", "changes": "upsert"},
        counts={"system": "log", "partitions": 1, "changes": "log"},
    )
    changes = [{"k": "x", "n": 1, "__op": "u"}, {"k": "x", "n": None, "__op": "d"}]
    json_logs.write(tmp_path, "orders", 1, [])
    json_logs.write(tmp_path, "counts", 1, [(0, None, change) for change in changes])
    assert [record["row"] for record in peek(tmp_path, "counts", made=history)] == changes


def test_deletions_and_what_can_not_be_read_are_shown(tmp_path):
    json_logs.write(tmp_path, "orders", 1, [(0, "x", {"k": "x", "a": 1}), (0, "y", None), (0, None, {"a": "many"})])
    time = "1970-01-01T00:00:00.000Z"
    assert peek(tmp_path, "orders") == [
        {"partition": 0, "offset": 0, "time": time, "key": "x", "row": {"k": "x", "a": 1}},
        {"partition": 0, "offset": 1, "time": time, "key": "y", "deleted": True},
        {"partition": 0, "offset": 2, "time": time, "key": None}
        | {"unreadable": peek(tmp_path, "orders")[2]["unreadable"], "value": '{"a": "many"}'},
    ]
    assert "many" in peek(tmp_path, "orders")[2]["unreadable"]


@pytest.mark.parametrize("form", ["json", "avro", "protobuf", "csv"])
def test_results_are_shown_as_they_were_written(tmp_path, form):
    made = document(counts={"system": "log", "key": "k", "partitions": 1, "format": form})
    json_logs.write(tmp_path, "orders", 2, [(0, None, {"k": "x", "a": 1}), (1, None, {"k": "y", "a": 2})])
    apps.run(made, tmp_path)
    found = peek(tmp_path, "counts", made=made)
    assert {record["key"]: record["row"] for record in found} == {"x": {"k": "x", "n": 1}, "y": {"k": "y", "n": 1}}


def test_of_files_the_first_rows_are_shown_with_the_unreadable_ones(tmp_path):
    made = document(lines={"system": "files", "format": "csv", "schema": "k string, a int", "eventTime": None})
    made["spec"]["operators"].append({"name": "lines-sent", "from": "lines", "sendTo": "copies"})
    made["spec"]["streams"]["copies"] = {"system": "files", "format": "csv", "name": "out/copies"}
    json_logs.write(tmp_path, "orders", 1, [])
    apps.write_stream(tmp_path, "lines", "k,a", ["x,1", "y,many", "z,3", "u,4"], ["v,5"])
    found = peek(tmp_path, "lines", "--rows", "3", made=made)
    assert places(found) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert [record.get("row") for record in found] == [{"k": "x", "a": 1}, None, {"k": "z", "a": 3}, {"k": "v", "a": 5}]
    assert "many" in found[1]["unreadable"]
    assert "any tool reads them in the folder out/copies" in peek(tmp_path, "copies", made=made, code=1)
    made["spec"]["systems"]["lake"] = {"delta": {"path": "lake"}}
    made["spec"]["streams"]["copies"] = {"system": "lake", "name": "copies"}
    assert "a table of Delta: any tool reads it, copies in system lake" in peek(tmp_path, "copies", made=made, code=1)
    made["spec"]["systems"]["lake"] = {"postgresql": {"uri": "postgresql://nowhere/shop"}}
    told = peek(tmp_path, "copies", made=made, code=1)
    assert "a table of PostgreSQL: any tool reads it, copies in system lake" in told


def test_of_folders_that_grow_the_last_rows_are_shown(tmp_path):
    made = document(lines={"system": "landing", "format": "csv", "schema": "k string, a int"})
    made["spec"]["systems"]["landing"] = {"folder": {"path": "."}}
    made["spec"]["operators"].append({"name": "lines-sent", "from": "lines", "sendTo": "copies"})
    made["spec"]["streams"]["copies"] = {"system": "log", "partitions": 1}
    del made["spec"]["streams"]["orders"]["bounded"]
    json_logs.write(tmp_path, "orders", 1, [])
    apps.write_stream(tmp_path, "lines", "k,a", ["x,1", "y,many", "z,3"])
    stream = StreamDescriptor(name="lines", system="landing", address="lines", format=StreamFormat.CSV)
    assert "lines has no journal yet" in peek(tmp_path, "lines", made=made, code=1)
    with closing(FolderAdmin(growing_folders(tmp_path, None))) as admin:
        admin.create({stream: 1})
    os.utime(tmp_path / "lines" / "0.csv", (1_577_836_800, 1_577_836_800))
    found = peek(tmp_path, "lines", "--rows", "2", made=made)
    assert [(record["offset"], record.get("row")) for record in found] == [(1, None), (2, {"k": "z", "a": 3})]


def test_of_changes_of_tables_those_that_delete_have_their_keys(tmp_path):
    made = document(orders={"system": "lake", "schema": "a int, k string", "key": "k", "changes": "upsert"})
    made["spec"]["systems"]["lake"] = {"delta": {"path": "."}}
    rows = pa.table({"k": ["x", "y"], "a": pa.array([1, 2], pa.int32())})
    write_deltalake(tmp_path / "orders", rows, configuration={"delta.enableChangeDataFeed": "true"})
    stream = StreamDescriptor(
        name="orders", system="lake", address="orders", format=StreamFormat.JSON, change_key=("k",)
    )
    with closing(FolderAdmin(growing_tables(tmp_path, None))) as admin:
        admin.create({stream: 1})
        admin.end_offsets([stream])
        DeltaTable(tmp_path / "orders").delete("k = 'x'")
        admin.end_offsets([stream])
    found = [
        {name: record[name] for name in record if name != "partition"} for record in peek(tmp_path, "orders", made=made)
    ]
    assert found == [
        {"offset": 0, "row": {"a": 1, "k": "x"}},
        {"offset": 1, "row": {"a": 2, "k": "y"}},
        {"offset": 2, "deleted": True, "row": {"a": None, "k": "x"}},
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["unknown"], "app has no stream unknown; it has counts, orders"),
        (["by-k"], "app has no stream by-k"),
        (["counts"], "counts does not exist yet"),
        (["orders", "--partition", "1"], "orders has no partition 1: it has 1, and the first is 0"),
    ],
)
def test_what_is_not_there_is_said(tmp_path, options, told):
    json_logs.write(tmp_path, "orders", 1, [(0, "x", {"k": "x", "a": 1})])
    assert told in " ".join(peek(tmp_path, *options, code=1).split())


def test_an_app_with_problems_is_refused(tmp_path):
    made = document()
    made["spec"]["operators"][1]["from"] = "nothing"
    json_logs.write(tmp_path, "orders", 1, [])
    assert "UnknownStream" in peek(tmp_path, "orders", made=made, code=1)
