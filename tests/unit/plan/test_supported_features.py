"""Features that the runtime lacks are refused by the planner, each with its path, some with a repair."""

import pytest

from streamapp_core.plan.supported_features import FILE_FORMATS
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.partition_files import ENDINGS
from support.plan_documents import accepted, check_refused, document, found

SYSTEMS = {
    "log": {"log": {"path": "log"}},
    "files": {"file": {"path": "."}},
    "kafka": {"kafka": {"bootstrapServers": "k:1"}},
    "land": {"folder": {"path": "land"}},
    "lake": {"delta": {"path": "lake"}},
}
AHEAD = {"eventTime": {"column": "k", "maxAhead": "1h"}}
UPSERT = {"changes": "upsert"}
DEBEZIUM = {"changes": "debezium"}
TIME = "2026-01-01T00:00:00Z"
PART = {"bounded": True, "startingTimestamp": TIME, "startingOffsets": {"0": 2}}
COUNTS = {"in": 2, "out": 2}


def app(*, source=None, output=None, default="log", **job):
    streams = {
        "in": {"system": "log", "schema": "k bigint, n int", "key": "k", **(source or {})},
        "out": {"system": "log", **(output or {})},
    }
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    return document(operators, streams=streams, systems=SYSTEMS, defaultSystem=default, job=job)


@pytest.mark.parametrize(
    "refused, path",
    [
        ({"source": {"schema": "k array<int>"}}, "streams.in.key"),
        ({"source": {"schema": "k timestamp_ntz"}}, "streams.in.key"),
        ({"source": {"schema": "k bigint, m map<struct<a:int>,int>"}}, "streams.in.schema"),
        ({"source": {"system": "files", "format": "csv", "schema": "k int, t map<int,int>"}}, "streams.in.format"),
        (
            {"source": {"schema": "k bigint, a array<int>"}, "output": {"system": "files", "format": "csv"}},
            "streams.out.format",
        ),
        ({"source": {"format": "parquet"}}, "streams.in.format"),
        ({"source": {"system": "land", "format": "avro"}}, "streams.in.format"),
        ({"source": {"system": "land", "format": "csv", "bounded": True}}, "streams.in.bounded"),
        ({"source": {"system": "lake", "bounded": True}}, "streams.in.bounded"),
        ({"output": {"system": "lake", "bounded": True}}, "streams.out.bounded"),
        ({"source": {"system": "land", "format": "csv", "startingVersion": 3}}, "streams.in.startingVersion"),
        ({"source": {"startingVersion": 0}}, "streams.in.startingVersion"),
        ({"source": {"system": "lake", "startingVersion": 0, "startFrom": "latest"}}, "streams.in.startingVersion"),
        ({"source": {"system": "lake", "format": "csv"}}, "streams.in.format"),
        ({"source": {"system": "lake", "partitioned": True}}, "streams.in.partitioned"),
        ({"source": {"system": "land", "partitioned": True}}, "streams.in.partitioned"),
        ({"source": {"system": "lake", "json": {"timestamps": "millis"}}}, "streams.in.json"),
        ({"output": {"system": "lake", "json": {"fields": {"n": "N"}}}}, "streams.out.json"),
        ({"output": {"system": "lake", "startingVersion": 3}}, "streams.out.startingVersion"),
        ({"source": {"system": "lake", "folderColumns": ["n"]}}, "streams.in.folderColumns"),
        ({"source": {"system": "lake", **UPSERT, "partitions": 2}}, "streams.in.partitions"),
        ({"source": {"system": "lake", **DEBEZIUM}}, "streams.in.changes"),
        ({"source": {"system": "lake", **AHEAD}}, "streams.in.eventTime.maxAhead"),
        ({"output": {"system": "lake", "format": "csv"}}, "streams.out.format"),
        ({"source": {"system": "land", "format": "csv", **AHEAD}}, "streams.in.eventTime.maxAhead"),
        ({"source": {"system": "land", "format": "csv", **UPSERT}}, "streams.in.changes"),
        ({"output": {"system": "land", "format": "csv"}}, "streams.out.system"),
        ({"output": {"folderColumns": ["n"]}}, "streams.out.folderColumns"),
        ({"source": {"folderColumns": ["n"]}}, "streams.in.folderColumns"),
        ({"source": {"format": "arrow"}}, "streams.in.format"),
        ({"output": {"format": "parquet"}}, "streams.out.format"),
        ({"output": {"system": "files", "format": "arrow"}}, "streams.out.format"),
        ({"source": {"system": "files", "format": "arrow"}}, "streams.in.format"),
        ({"source": {"system": "files", "format": "csv", "csv": {"delimiter": "é"}}}, "streams.in.csv.delimiter"),
        ({"output": {"system": "files", "format": "csv", "csv": {"delimiter": '"'}}}, "streams.out.csv.delimiter"),
        ({"output": {"key": "n", "keyFormat": "int", "controlMessages": True}}, "streams.out.keyFormat"),
        ({"output": {"controlMessages": True}}, "streams.out.controlMessages"),
        ({"source": {"keyFormat": "int"}}, "streams.in.keyFormat"),
        ({"output": {"key": "k", "keyFormat": "int"}}, "streams.out.keyFormat"),
        ({"source": {"bounded": True, "startFrom": "latest"}}, "streams.in.startFrom"),
        ({"source": {"system": "files", "format": "csv", **AHEAD}}, "streams.in.eventTime.maxAhead"),
        ({"source": {"format": "arrow", "controlMessages": True, **AHEAD}}, "streams.in.eventTime.maxAhead"),
        ({"output": AHEAD}, "streams.out.eventTime.maxAhead"),
        ({"output": UPSERT}, "streams.out.changes"),
        ({"source": {"system": "files", "format": "csv", **UPSERT}}, "streams.in.changes"),
        ({"source": {"format": "arrow", "controlMessages": True, **UPSERT}}, "streams.in.changes"),
        ({"source": {"format": "raw", "schema": "k binary", **UPSERT}}, "streams.in.changes"),
        ({"source": {"debezium": {"columns": {"n": "op"}}}}, "streams.in.debezium"),
        ({"source": {"keyFormat": "long", **DEBEZIUM}}, "streams.in.keyFormat"),
        ({"source": {"format": "avro", **DEBEZIUM}}, "streams.in.format"),
        ({"source": {"system": "files", "format": "csv", **DEBEZIUM}}, "streams.in.changes"),
        ({"source": {"controlMessages": True, "startFrom": "latest"}}, "streams.in.startFrom"),
        ({"source": {"startingTimestamp": TIME, "startFrom": "latest"}}, "streams.in.startingTimestamp"),
        ({"source": {"controlMessages": True, "startingOffsets": {"0": 1}}}, "streams.in.startingOffsets"),
        ({"source": {"system": "lake", "startingTimestamp": TIME}}, "streams.in.startingTimestamp"),
        ({"source": {"system": "files", "format": "csv", "startingOffsets": {"0": 1}}}, "streams.in.startingOffsets"),
        ({"source": {**UPSERT, "startingTimestamp": TIME}}, "streams.in.startingTimestamp"),
        ({"source": {"endingTimestamp": TIME}}, "streams.in.endingTimestamp"),
        ({"source": {"endingOffsets": {"0": 1}}}, "streams.in.endingOffsets"),
        ({"source": {**PART, "endingTimestamp": "2025-12-31T00:00:00Z"}}, "streams.in.endingTimestamp"),
        ({"source": {**PART, "endingOffsets": {"0": 1}}}, "streams.in.endingOffsets"),
        ({"output": {"startingTimestamp": TIME}}, "streams.out.startingTimestamp"),
        ({"output": {"bounded": True, "endingOffsets": {"0": 1}}}, "streams.out.endingOffsets"),
        ({"output": {"system": "kafka"}, "default": "kafka", "commitInterval": "11s"}, "job.commitInterval"),
        ({"source": {"system": "files", "format": "text", "schema": "k string"}}, "streams.in.format"),
        ({"source": {"system": "files", "format": "csv", "json": {"timestamps": "millis"}}}, "streams.in.json"),
        ({"output": {"system": "files", "format": "parquet", "json": {"fields": {"n": "N"}}}}, "streams.out.json"),
        ({"source": {"csv": {"delimiter": ";"}}}, "streams.in.csv"),
        ({"source": {"system": "land", "format": "parquet", "csv": {"header": False}}}, "streams.in.csv"),
        ({"output": {"system": "files", "format": "json", "csv": {"nullValue": "NA"}}}, "streams.out.csv"),
        ({"source": {"controlMessages": True, "json": {"timestamps": "millis"}}}, "streams.in.json"),
    ],
)
def test_what_the_runtime_lacks_is_refused_where_it_is_written(refused, path):
    check_refused(app(**refused), "NotSupported", f"spec.{path}", COUNTS)


@pytest.mark.parametrize(
    "supported",
    [
        {"output": {"key": "n", "keyFormat": "long"}},
        {"source": {"keyFormat": "long", "startFrom": "latest"}},
        {"source": {"system": "kafka"}, "output": {"system": "kafka"}, "default": "kafka", "commitInterval": "10s"},
        {"commitInterval": "11s"},
        {"source": {**PART, "endingTimestamp": TIME, "endingOffsets": {"0": 2}}},
        {"source": {**UPSERT, "bounded": True, "endingTimestamp": TIME}, "output": {"key": "k"}},
        {"source": AHEAD},
        {"source": {"system": "land", "format": "csv", "startFrom": "latest", "partitions": 3}},
        {"source": {"system": "lake", "startingVersion": 7}},
        {"source": {"system": "lake", "startFrom": "latest", "format": "parquet"}},
        {"output": {"system": "files", "format": "csv", "csv": {"delimiter": "\t"}}},
    ],
)
def test_what_is_just_possible_is_accepted(supported):
    accepted(app(**supported), COUNTS)


def test_files_of_an_unknown_format_are_not_called_missing():
    files = {"system": "files", "format": "arrow"}
    assert found(app(source=files), {}) == {("NotSupported", "spec.streams.in.format")}


@pytest.mark.parametrize("form", list(StreamFormat))
def test_nothing_more_is_said_of_streams_in_an_unknown_system(form):
    source = {"system": "nowhere", "format": form.value, "bounded": True}
    assert found(app(source=source), {}) == {("UnknownSystem", "spec.streams.in.system")}


def test_the_formats_of_files_are_those_that_are_read_and_written():
    assert set(FILE_FORMATS) == ENDINGS.keys()


@pytest.mark.parametrize(
    "refused, code, path",
    [
        ({"source": {"json": {"fields": {"m": "M"}}}}, "UnknownColumn", "streams.in.json.fields.m"),
        ({"source": {"json": {"fields": {"k": "n"}}}}, "InvalidSpec", "streams.in.json.fields"),
        ({"output": {"json": {"fields": {"k": "n"}}}}, "InvalidSpec", "streams.out.json.fields"),
        ({"source": {"format": "text", "schema": "k int"}}, "TypeMismatch", "streams.in.schema"),
        ({"source": {"format": "raw", "schema": "k string"}}, "TypeMismatch", "streams.in.schema"),
        ({"source": {"format": "text", "schema": "k string, n string"}}, "TypeMismatch", "streams.in.schema"),
        ({"output": {"format": "text"}}, "TypeMismatch", "streams.out"),
    ],
)
def test_rows_that_a_format_cannot_hold_are_refused(refused, code, path):
    assert (code, f"spec.{path}") in found(app(**refused), COUNTS)


@pytest.mark.parametrize("form, kind", [("text", "string"), ("raw", "binary")])
def test_one_column_fits_messages_that_are_whole_values(form, kind):
    whole = {"format": form, "schema": f"k {kind}"}
    assert accepted(app(source=whole, output={"format": form}), COUNTS)


def test_fields_may_change_names_with_each_other():
    assert accepted(app(source={"json": {"fields": {"k": "n", "n": "k"}}}), COUNTS)


def filled_table(**stream):
    streams = {
        "in": {"system": "log", "schema": "k bigint, n int", "key": "k"},
        "prices": {"system": "log", "schema": "at timestamp, price int", "key": "at", **stream},
        "out": {"system": "log"},
    }
    tables = {"priced": {"key": "at", "sideInputs": ["prices"]}}
    timed = {"name": "timed", "from": "in", "map": "timestamp_millis(k) as at, *"}
    joined = {"name": "found", "from": "timed", "joinTable": {"table": "priced", "on": "at"}}
    sent = {"name": "sent", "from": "found", "sendTo": "out"}
    return document([timed, joined, sent], streams=streams, systems=SYSTEMS, tables=tables, defaultSystem="log")


@pytest.mark.parametrize(
    "stream, path",
    [
        ({"json": {"timestamps": "millis"}}, "json.timestamps"),
        ({"json": {"timestamps": "millis"}, "key": None}, "json.timestamps"),
        ({"format": "text", "schema": "at string"}, "format"),
    ],
)
def test_tables_are_filled_from_messages_whose_keys_can_be_read(stream, path):
    assert ("NotSupported", f"spec.streams.prices.{path}") in found(filled_table(**stream), COUNTS | {"prices": 1})


def test_event_times_of_side_inputs_are_not_bounded():
    refused = app(source={"schema": "k bigint, n int"})
    spec = refused["spec"]
    spec["streams"]["names"] = {"system": "log", "schema": "k bigint, name string", "key": "k", **AHEAD}
    spec["tables"] = {"name": {"key": "k", "sideInputs": ["names"]}}
    spec["operators"] = [
        {"name": "named", "from": "in", "joinTable": {"table": "name", "on": "k"}},
        {"name": "sent", "from": "named", "sendTo": "out"},
    ]
    assert ("NotSupported", "spec.streams.names.eventTime.maxAhead") in found(refused, {**COUNTS, "names": 2})


@pytest.mark.parametrize(
    ("columns", "problems"),
    [
        (["n"], set()),
        (
            ["K", "n"],
            {("TypeMismatch", "spec.streams.out.folderColumns[0]"), ("InvalidSpec", "spec.streams.out.folderColumns")},
        ),
        (["n", "N"], {("InvalidSpec", "spec.streams.out.folderColumns[1]")}),
        (["m"], {("UnknownColumn", "spec.streams.out.folderColumns[0]")}),
    ],
)
def test_columns_that_are_folders_are_there_once_and_have_names_and_not_all_are(columns, problems):
    source = {"schema": "k double, n int", "key": "n"}
    files = {"system": "files", "format": "parquet", "folderColumns": columns}
    assert found(app(source=source, output=files), COUNTS) == problems
    read = files | {"schema": "k double, n int", "partitioned": True}
    same = {(code, path.replace("out", "in")) for code, path in problems}
    assert found(app(source=read), COUNTS) == same


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"missing": "op"}, "UnknownColumn"),
        ({"how": "ts_ms"}, "TypeMismatch"),
        ({"at": "source.lsn"}, "TypeMismatch"),
        ({"position": "op"}, "TypeMismatch"),
        ({"k": "source.lsn"}, "InvalidSpec"),
        ({"position": "source.lsn", "at": "source.lsn"}, "InvalidSpec"),
    ],
)
def test_columns_beside_rows_are_there_and_have_the_types_of_their_places(columns, code):
    schema = "k bigint, n int, how string, at timestamp, position bigint"
    spec = app(source={**DEBEZIUM, "schema": schema, "debezium": {"columns": columns}})
    assert (code, f"spec.streams.in.debezium.columns.{next(iter(columns))}") in found(spec, COUNTS)
    right = {"how": "op", "at": "source.ts_us", "position": "source.lsn"}
    accepted(app(source={**DEBEZIUM, "schema": schema, "debezium": {"columns": right}}, output={"key": "k"}), COUNTS)


@pytest.mark.parametrize("changes", ["upsert", "debezium"])
def test_changes_need_a_key_and_fill_tables_of_that_key(changes):
    spec = app(source={"changes": changes})
    del spec["spec"]["streams"]["in"]["key"]
    assert ("InvalidSpec", "spec.streams.in.key") in found(spec, COUNTS)
    names = {"system": "log", "schema": "k bigint, other bigint", "key": "k", "changes": changes, "broadcast": True}
    joined = {"name": "joined", "from": "in", "joinTable": {"table": "t", "on": "k"}}
    for key, expected in (("k", False), ("other", True)):
        filled = app()
        filled["spec"]["streams"]["names"] = names
        filled["spec"]["tables"] = {"t": {"key": key, "sideInputs": ["names"]}}
        filled["spec"]["operators"].append(joined)
        filled["spec"]["operators"][0]["from"] = "joined"
        refused = ("ChangesUnsupported", "spec.tables.t.key") in found(filled, {**COUNTS, "names": 2})
        assert refused is expected


@pytest.mark.parametrize("regrouped", [False, True])
def test_what_fills_a_table_is_read_from_its_beginning_through_intermediate_streams_too(regrouped):
    with_table = app(source={"startingTimestamp": TIME})
    spec = with_table["spec"]
    spec["streams"]["events"] = {"system": "log", "schema": "k bigint, m int", "key": "k", "startingTimestamp": TIME}
    spec["tables"] = {"known": {"key": "k", "schema": "k bigint, n int"}}
    filler = "by" if regrouped else "in"
    spec["operators"] = [
        *([{"name": "by", "from": "in", "partitionBy": {"key": "k"}}] if regrouped else []),
        {"name": "filled", "from": filler, "sendToTable": "known"},
        {"name": "joined", "from": "events", "joinTable": {"table": "known", "on": "k"}},
        {"name": "sent", "from": "joined", "sendTo": "out"},
    ]
    counts = COUNTS | {"events": 2}
    assert found(with_table, counts) == {("NotSupported", "spec.streams.in.startingTimestamp")}
    check_refused(with_table, "NotSupported", "spec.streams.in.startingTimestamp", counts)


@pytest.mark.parametrize("system", ["lake", "land", "bucket"])
def test_tables_and_folders_that_are_side_inputs_are_read_as_a_whole(system):
    customers = {"system": system, "schema": "k bigint, city string", "bounded": True, "broadcast": True}
    assert accepted(with_side_input(customers)).streams["customers"].partitions == 1


@pytest.mark.parametrize("option, value", [("changes", "upsert"), ("startingVersion", 3)])
def test_what_is_read_as_a_whole_has_no_changes_and_no_first_version(option, value):
    customers = {"system": "lake", "schema": "k bigint, city string", "bounded": True, "broadcast": True, "key": "k"}
    refused = with_side_input({**customers, option: value})
    check_refused(refused, "NotSupported", f"spec.streams.customers.{option}", COUNTS)


def test_what_spark_reads_has_no_versions():
    customers = {"system": "shop", "schema": "k bigint, city string", "bounded": True, "broadcast": True}
    check_refused(with_side_input(customers), "NotSupported", "spec.streams.customers.bounded", COUNTS)


def with_side_input(customers):
    """Give an app that joins a table of one side input."""
    streams = {
        "in": {"system": "log", "schema": "k bigint, n int", "key": "k"},
        "customers": customers,
        "out": {"system": "log"},
    }
    operators = [
        {"name": "located", "from": "in", "joinTable": {"table": "city", "on": "k"}},
        {"name": "sent", "from": "located", "sendTo": "out"},
    ]
    shop = {"spark": {"format": "jdbc", "path": "staged"}}
    systems = {**SYSTEMS, "bucket": {"delta": {"path": "s3://acme/lake"}}, "shop": shop}
    table = {"key": "k", "sideInputs": ["customers"]}
    return document(operators, streams=streams, systems=systems, tables={"city": table}, defaultSystem="log")
