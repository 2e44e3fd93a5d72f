"""`streamapp init`: what it writes plans, and reads every row of the sample as it stands there."""

import csv
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.schema import parse_schema
from streamapp_core.spec.parse import parse_text
from support import apps

SLOWER = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TIMES = ["2024-05-01T10:00:00Z", "2024-05-01 10:00:00.5", "2024-05-01T10:00:00+02:00", "2024-13-01T00:00:00Z"]
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.sampled_from(
        [*TIMES, "2024-05-01", "", "NA", "null", "007", "12", "-4", "1.50", "true", " 3", "1e400", '"', ","]
    ),
)
NUMBERS = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.integers(1_714_557_600_000, 1_714_557_900_000),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(["a", "B", "b", ""]), inside, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(["id", "at", "Id", "ts", "created_at", "a b", "__x", "", "a.b", "é", "`", "x\ty", "from"])


def invoke(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def init(folder, source, *options):
    """Write an app in a folder, and return its one stream that is read, with its name."""
    file = folder / "app.yaml"
    invoke("init", source, "--file", file, "--force", *options)
    invoke("plan", file)
    streams = parse_text(file.read_text()).app.spec.streams
    return next((name, stream) for name, stream in streams.items() if name != "results")


def read(folder, stream, rows=1_000):
    """Return the rows of a stream as the app reads them; none may be unreadable."""
    records = [
        json.loads(line) for line in invoke("peek", folder / "app.yaml", stream, "--rows", rows).split("\n") if line
    ]
    assert not [record for record in records if "row" not in record]
    return [record["row"] for record in records]


@SLOWER
@given(rows=st.lists(st.dictionaries(FIELDS, VALUES, max_size=4), min_size=1, max_size=6))
def test_objects_are_read_as_they_are(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("app")
    rows[0]["least"] = 1
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    name, stream = init(folder, folder / "in.jsonl")
    found = read(folder, name)
    assert len(found) == len(rows)
    exact = ("bigint", "boolean", "double")
    for column in parse_schema(stream.stream_schema).columns:
        field = stream.json_options.field_of(column.name)
        for row, result in zip(rows, found, strict=True):
            value = row.get(field)
            if str(column.type) in exact or (str(column.type) == "string" and isinstance(value, str)):
                assert result[column.name] == value


@SLOWER
@given(
    columns=st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=2, max_size=4),
    delimiter=st.sampled_from(",;\t|"),
    header=st.booleans(),
)
def test_lines_are_read_as_they_are(tmp_path_factory, columns, delimiter, header):
    folder = tmp_path_factory.mktemp("app")
    with (folder / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        if header:
            writer.writerow([f"name {number}" for number in range(len(columns))])
        writer.writerows(zip(*columns, strict=True))
    name, stream = init(folder, folder / "in.csv")
    found = read(folder, name)
    schema = parse_schema(stream.stream_schema)
    assert stream.csv.delimiter == delimiter
    names = [f"name {number}" if header else f"c{number + 1}" for number in range(len(columns))]
    if not header and stream.csv.header:
        names = [texts.pop(0) for texts in columns]
    assert len(found) == len(columns[0])
    for name, texts in zip(names, columns, strict=True):
        column = schema.get(name)
        if column is None:
            continue
        for row, text in zip(found, texts, strict=True):
            value = row[column.name]
            match str(column.type):
                case "string":
                    assert value == text
                case "bigint":
                    assert str(value) == text.strip() or (value is None and not text.strip())
                case "double":
                    assert value is None or math.isclose(value, float(text), rel_tol=0)


def events(folder, *rows):
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return init(folder, folder / "events.jsonl")[1]


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        (["0042", "0007"], "v string"),
        ([1, 2.5], "v double"),
        ([10**20], "v decimal(38,0)"),
        (["2024-05-01T10:00:00Z", None], "v timestamp"),
        (["2024-05-01", "2024-05-02"], "v date"),
        (["2024-05-01", "tomorrow"], "v string"),
        ([None], "v string"),
        ([1, "a"], "v variant"),
        ([{"a": 1}, {"b": ["x"]}], "v struct<a:bigint,b:array<string>>"),
        ([{f"k{row}-{n}": n for n in range(5)} for row in range(20)], "v map<string,bigint>"),
        ([[1], [True]], "v array<variant>"),
    ],
)
def test_types_of_json(tmp_path, values, schema):
    assert events(tmp_path, *({"v": value} for value in values)).stream_schema == schema


@pytest.mark.parametrize(
    ("value", "times", "kind"),
    [
        (1_714_557_600, "seconds", "timestamp"),
        (1_714_557_600_123, "millis", "timestamp"),
        (1_714_557_600_123_456, "micros", "timestamp"),
        (1_714_557_600_123_456_789, "text", "bigint"),
        ("2024-05-01T10:00:00Z", "text", "timestamp"),
        (17, "text", "bigint"),
    ],
)
def test_times_are_texts_or_numbers_since_1970(tmp_path, value, times, kind):
    stream = events(tmp_path, {"at": value, "n": 1_714_557_600})
    assert (stream.json_options.timestamps, stream.stream_schema) == (times, f"at {kind}, n bigint")
    assert (stream.event_time is not None) == (kind == "timestamp")


def test_milliseconds_are_event_times_where_other_columns_have_texts(tmp_path):
    stream = events(tmp_path, {"event_ts": 1_714_557_600_123, "loaded_at": "2024-05-01T10:00:00Z"})
    assert stream.stream_schema == "event_ts bigint, loaded_at timestamp"
    assert stream.event_time.column == "event_ts"


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["created_at", "updated_at"], "created_at"),
        (["processedAt", "eventTime"], "eventTime"),
        (["valid", "at"], "at"),
    ],
)
def test_the_name_says_which_time_is_that_of_the_event(tmp_path, names, wanted):
    assert events(tmp_path, dict.fromkeys(names, "2024-05-01T10:00:00Z")).event_time.column == wanted


def test_the_bound_covers_the_disorder_of_the_sample(tmp_path):
    moments = ["2024-05-01T10:00:00Z", "2024-05-01T10:00:40Z", "2024-05-01T10:00:10Z"]
    stream = events(tmp_path, *({"e": {"at": moment}} for moment in moments))
    assert stream.event_time.column == "e.at"
    assert stream.event_time.max_out_of_orderness == 60_000


ORDERS = {
    "1.csv": "id;item;price;at\n1;tea;2.5;2024-05-01T09:15:00Z\n2;cake;NA;2024-05-01T09:40:00Z\n",
    "2.csv": "id;item;price;at\n3;tea;3.5;2024-05-01T09:20:00Z\n4;cake;4;2024-05-01T10:20:00Z\n",
}


def write(folder, texts):
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


def test_the_app_runs_and_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(Path("shop/orders"), ORDERS)
    output = invoke("init", "shop/orders")
    assert "streamapp run app.yaml" in output
    stream = parse_text(Path("app.yaml").read_text()).app.spec.streams["orders"]
    assert stream.stream_schema == "id bigint, item string, price double, at timestamp"
    assert (stream.csv.delimiter, stream.csv.null_value, stream.event_time.column) == (";", "NA", "at")
    invoke("run", "app.yaml", "--host", "in-process")
    assert sorted(row[0] + row[3] for row in apps.rows(Path("results/orders"))) == ["cake1", "cake1", "tea2"]


def test_a_file_is_replaced_only_by_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(Path("orders"), ORDERS)
    Path("app.yaml").write_text("mine")
    assert "--force" in invoke("init", "orders", code=1)
    assert Path("app.yaml").read_text() == "mine"
    invoke("init", "orders", "--force")
    assert "kind: StreamApp" in Path("app.yaml").read_text()


def test_folders_that_are_columns_are_found(tmp_path):
    for day in ("2024-05-01", "2024-05-02"):
        write(tmp_path / "bids" / f"day={day}" / "city=New York", {"1.csv": "bid,n\n7,1\n"})
    name, stream = init(tmp_path, tmp_path / "bids")
    assert stream.folder_columns == ("day", "city")
    assert stream.stream_schema == "bid bigint, n bigint, day date, city string"
    assert [row["day"] for row in read(tmp_path, name)] == ["2024-05-01", "2024-05-02"]


def test_columns_that_not_all_files_have_and_names_that_none_may_have_are_left_out(tmp_path):
    write(tmp_path / "in", {"1.csv": "a,b,A,__c,d\n1,2,3,4,5\n", "2.csv": "d,b\n1,2\n"})
    _, stream = init(tmp_path, tmp_path / "in")
    assert stream.stream_schema == "b bigint, d bigint"
    assert "Left out, as no column can have their names or values: a, A, __c" in (tmp_path / "app.yaml").read_text()


def test_records_that_nothing_can_read_are_told(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n3\n5,6\n")
    assert "1 sampled records can't be read" in invoke("init", tmp_path / "in.csv", "--file", tmp_path / "app.yaml")
    text = (tmp_path / "app.yaml").read_text()
    assert "schema: >-\n        a bigint, b bigint\n" in text
    assert "the record has 1 values, not 2" in " ".join(text.replace("#", "").split())


def test_parquet_has_types(tmp_path):
    rows = pa.table(
        {
            "id": pa.array([1, 2], pa.uint64()),
            "tags": pa.array([["a"], None]),
            "at": pa.array([0, 1], pa.timestamp("ns")),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "length": pa.array([1, 2], pa.duration("s")),
        }
    )
    pq.write_table(rows, tmp_path / "in.parquet")
    name, stream = init(tmp_path, tmp_path / "in.parquet")
    assert stream.stream_schema == "id decimal(20,0), tags array<string>, at timestamp, kind string"
    assert [row["id"] for row in read(tmp_path, name)] == [1, 2]


def test_a_table_of_delta_is_read(tmp_path):
    rows = pa.table({"k": ["a", "a", "b", "b"], "n": pa.array([1, 2, 3, 4], pa.int32()), "price": [0.5, 1.5, 2.5, 3.5]})
    write_deltalake(str(tmp_path / "lake" / "bids"), rows, partition_by=["k"])
    _, stream = init(tmp_path, tmp_path / "lake" / "bids")
    assert stream.stream_schema == "k string, n int, price double"
    spec = parse_text((tmp_path / "app.yaml").read_text()).app.spec
    assert spec.operators[1].aggregate.by == ("k",)


@pytest.mark.parametrize(
    ("texts", "source", "told"),
    [
        ({}, "nothing", "there is no such file or folder"),
        ({"a.txt": "x"}, "", "has no files that end in .csv"),
        ({"a.json": '[\n{"a": 1}\n]\n'}, "a.json", "jq -c '.[]' FILE"),
        ({"a.csv": ""}, "a.csv", "the sample has no columns"),
        ({"a.parquet": "x"}, "a.parquet", "can't be read as parquet"),
    ],
)
def test_what_is_no_source_is_told(tmp_path, texts, source, told):
    write(tmp_path / "in", texts)
    output = invoke("init", tmp_path / "in" / source, "--file", tmp_path / "app.yaml", code=1)
    assert told in " ".join(output.split())
    assert not (tmp_path / "app.yaml").exists()
