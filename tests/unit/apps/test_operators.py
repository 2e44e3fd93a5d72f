"""Whole apps, one operator or shape of graph each: what comes out is what plain Python makes of the same rows."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from streamapp_runtime.errors import RuntimeFailure
from support import apps, shop

NUMBERS = {"schema": "k string, n int"}
DATED = {"schema": "k string, n int, at timestamp"}
KEYS = ["a", "b", "c", "d", "e"]


def numbers(count, step=1):
    """Give rows of keys and numbers, as a file has them."""
    return [f"{KEYS[n % len(KEYS)]},{n}" for n in range(0, count, step)]


def dated(count):
    """Give rows with a time, a minute between them."""
    return [f"{row},2024-05-01T{n // 60:02}:{n % 60:02}:00Z" for n, row in enumerate(numbers(count))]


def found(folder, name="out"):
    return apps.row_counts(folder / "out" / name)


def pairs(lines):
    return Counter(tuple(line.split(",")[:2]) for line in lines)


def operators(*described):
    """Make operators of (name, from, kind, configuration)."""
    return [{"name": name, "from": source, kind: config} for name, source, kind, config in described]


@pytest.mark.parametrize("processors", [1, 3])
def test_merge_gives_all_rows_of_both_streams(tmp_path, processors):
    left, right = numbers(30), numbers(20, 3)
    apps.write_stream(tmp_path, "left", "k,n", left[:7], left[7:])
    apps.write_stream(tmp_path, "right", "n,k", [",".join(reversed(line.split(","))) for line in right])
    steps = operators(("both", ["left", "right"], "merge", {}), ("sent", "both", "sendTo", "out"))
    apps.run(apps.document(steps, processors=processors, left=NUMBERS, right=NUMBERS, out={}), tmp_path)
    assert found(tmp_path) == pairs(left) + pairs(right)


def test_a_window_after_a_merge_waits_for_both_streams(tmp_path):
    apps.write_stream(tmp_path, "early", "k,n,at", dated(300))
    apps.write_stream(tmp_path, "late", "k,n,at", dated(1_200)[600:])
    window = {"tumbling": "1h", "by": ["k"], "select": "count(*) as c, sum(n) as s"}
    steps = operators(
        ("both", ["early", "late"], "merge", {}),
        ("by-k", "both", "partitionBy", {"key": "k"}),
        ("hourly", "by-k", "window", window),
        ("sent", "hourly", "sendTo", "out"),
    )
    summary = apps.run(apps.document(steps, early=DATED, late=DATED, out={}, processors=2), tmp_path)
    assert summary.not_used == {}
    expected = {}
    for k, n, at in (line.split(",") for line in [*dated(300), *dated(1_200)[600:]]):
        count, total = expected.get((k, at[:13]), (0, 0))
        expected[k, at[:13]] = count + 1, total + int(n)
    rows = {(k, start[:13]): (int(c), int(s)) for k, start, _, c, s in apps.rows(tmp_path / "out" / "out")}
    assert rows == expected


def test_flat_map_makes_a_row_of_every_part(tmp_path):
    lines = ["1,a b", "2,", "3,c", "4,NULL", "5,b b"]
    apps.write_stream(tmp_path, "texts", "id,body", lines[:2], lines[2:])
    steps = operators(
        ("words", "texts", "flatMap", "id, explode(split(body, ' ')) as word"),
        ("by-word", "words", "partitionBy", {"key": "word"}),
        ("counts", "by-word", "aggregate", {"by": ["word"], "select": "count(*) as n, max(id) as last"}),
        ("sent", "counts", "sendTo", "out"),
    )
    apps.run(apps.document(steps, texts={"schema": "id int, body string"}, out={}), tmp_path)
    assert apps.last_per_key(tmp_path / "out" / "out", 1) == {
        ("a",): ("a", "1", "1"),
        ("b",): ("b", "3", "5"),
        ("c",): ("c", "1", "3"),
        ("",): ("", "1", "2"),
    }


@pytest.mark.parametrize("processors", [1, 2])
def test_rows_that_every_task_has_are_written_once(tmp_path, processors):
    apps.write_stream(tmp_path, "rows", "k,n", numbers(10), numbers(25), numbers(5))
    steps = operators(
        ("everywhere", "rows", "broadcast", {}),
        ("running", "everywhere", "aggregate", {"by": ["k"], "select": "sum(n) as s, count(*) as c"}),
        ("totals-out", "running", "sendTo", "totals"),
        ("rows-out", "everywhere", "sendTo", "out"),
    )
    apps.run(apps.document(steps, rows=NUMBERS, out={}, totals={}, processors=processors), tmp_path)
    everything = pairs(numbers(10)) + pairs(numbers(25)) + pairs(numbers(5))
    assert found(tmp_path) == everything
    last = {}
    for (k, n), count in everything.items():
        total, rows = last.get(k, (0, 0))
        last[k] = total + count * int(n), rows + count
    totals = [tuple(map(str, (k, *values))) for k, values in last.items()]
    assert all(found(tmp_path, "totals")[row] == 1 for row in totals)


def test_a_table_that_a_broadcast_fills_is_joined_whole_by_every_task(tmp_path):
    apps.write_stream(tmp_path, "names", "k,size", ["a,1", "b,2", "c,3"])
    apps.write_stream(tmp_path, "rows", "k,n", numbers(2_000), numbers(1_000))
    steps = operators(
        ("everywhere", "names", "broadcast", {}),
        ("fill", "everywhere", "sendToTable", "sizes"),
        ("sized", "rows", "joinTable", {"table": "sizes", "on": "k", "type": "left"}),
        ("sent", "sized", "sendTo", "out"),
    )
    tables = {"sizes": {"key": "k", "schema": "k string, size int"}}
    apps.run(
        apps.document(steps, tables=tables, names={"schema": "k string, size int"}, rows=NUMBERS, out={}), tmp_path
    )
    rows = apps.rows(tmp_path / "out" / "out")
    assert Counter(row[:2] for row in rows) == pairs(numbers(2_000)) + pairs(numbers(1_000))
    assert {row[2] for row in rows if row[0] == "a"} <= {"", "1"}
    assert {row[2] for row in rows if row[0] in "de"} == {""}


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("processors", [1, 3])
def test_a_table_filled_by_one_stream_is_joined_by_another(tmp_path, processors):
    document = shop.lay_out(tmp_path, 3_000, processors)
    summary = apps.run(document, tmp_path)
    assert summary.not_used == {}
    shop.check(tmp_path)


def test_outputs_have_the_same_rows_in_every_format(tmp_path):
    apps.write_stream(tmp_path, "rows", "k,n", numbers(50), ["NULL,7", "f,NULL", "g,8", '"a,""b""",9'])
    formats = ["csv", "json", "parquet"]
    steps = operators(*((f"to-{form}", "rows", "sendTo", form) for form in formats))
    outputs = {form: {"format": form} for form in formats}
    outputs["csv"]["csv"] = {"nullValue": "NULL"}
    summary = apps.run(apps.document(steps, rows=NUMBERS, **outputs), tmp_path)
    assert summary.written == dict.fromkeys(formats, 54)
    expected = Counter([(k, int(n)) for k, n in pairs(numbers(50))] + [(None, 7), ("f", None), ("g", 8), ('a,"b"', 9)])
    lines = [line for part in apps.parts(tmp_path / "out" / "json") for line in part.read_text().splitlines()]
    assert Counter(tuple(json.loads(line).values()) for line in lines) == expected
    tables = [pq.read_table(part) for part in apps.parts(tmp_path / "out" / "parquet")]
    assert Counter(tuple(row.values()) for table in tables for row in table.to_pylist()) == expected
    texts = {tuple("NULL" if value is None else str(value) for value in row): count for row, count in expected.items()}
    assert found(tmp_path, "csv") == texts


@pytest.mark.parametrize("processors", [1, 3])
def test_a_diamond_gives_the_rows_of_both_its_sides(tmp_path, processors):
    apps.write_stream(tmp_path, "rows", "k,n", numbers(40), numbers(60))
    steps = operators(
        ("top", "rows", "filter", "n >= 10"),
        ("left", "top", "map", "k, n * 2 as n"),
        ("right", "top", "filter", "n % 3 = 0"),
        ("regrouped", "right", "partitionBy", {"key": "k"}),
        ("bottom", ["left", "regrouped", "top"], "merge", {}),
        ("sent", "bottom", "sendTo", "out"),
    )
    apps.run(apps.document(steps, rows=NUMBERS, out={}, processors=processors), tmp_path)
    top = [(k, int(n)) for k, n in (line.split(",") for line in [*numbers(40), *numbers(60)]) if int(n) >= 10]
    expected = Counter(top) + Counter((k, 2 * n) for k, n in top) + Counter(row for row in top if row[1] % 3 == 0)
    assert found(tmp_path) == {(k, str(n)): count for (k, n), count in expected.items()}


@pytest.mark.parametrize("processors", [1, 2])
def test_each_row_is_written_once_where_the_grouper_gives_every_task_all_partitions(tmp_path, processors):
    files = [numbers(n) for n in (5, 40, 0, 13, 1)]
    apps.write_stream(tmp_path, "rows", "k,n", *files)
    document = apps.document(
        operators(("some", "rows", "filter", "n >= 2"), ("sent", "some", "sendTo", "out")),
        rows=NUMBERS,
        out={},
        job={"grouper": "all"},
        processors=processors,
    )
    summary = apps.run(document, tmp_path)
    (stream,) = summary.streams
    assert (stream.partitions, stream.ended, stream.read) == (5, 5, 59)
    assert found(tmp_path) == pairs(line for file in files for line in file[2:])


@pytest.mark.parametrize("processors", [1, 3])
def test_rows_go_through_two_shuffles_in_a_row(tmp_path, processors):
    apps.write_stream(tmp_path, "rows", "k,n,at", dated(500), dated(900))
    steps = operators(
        ("by-k", "rows", "partitionBy", {"key": "k"}),
        ("grouped", "by-k", "map", "k, n % 7 as g, n, at"),
        ("by-g", "grouped", "partitionBy", {"key": "g"}),
        ("daily", "by-g", "window", {"tumbling": "1d", "by": ["g"], "select": "count(*) as c, sum(n) as s"}),
        ("sent", "daily", "sendTo", "out"),
    )
    job = {"intermediateStreamPartitions": 3}
    # The second partitionBy reads a stream of several producers each, so rows of one file overtake each other.
    source = DATED | {"eventTime": {"column": "at", "maxOutOfOrderness": "1d"}}
    summary = apps.run(apps.document(steps, rows=source, out={}, job=job, processors=processors), tmp_path)
    assert summary.not_used == {}
    expected = {
        str(g): (sum(count for _, count in of_g), sum(n * count for n, count in of_g))
        for g in range(7)
        if (of_g := [(n, 2 if n < 500 else 1) for n in range(900) if n % 7 == g])
    }
    rows = {g: (int(c), int(s)) for g, _, _, c, s in apps.rows(tmp_path / "out" / "out")}
    assert rows == expected


def test_null_is_a_key_of_its_own(tmp_path):
    lines = ["NULL,1,2024-05-01T00:00:00Z", "a,2,2024-05-01T00:01:00Z", "NULL,3,2024-05-01T00:02:00Z"]
    apps.write_stream(tmp_path, "rows", "k,n,at", lines, lines[:1])
    apps.write_stream(tmp_path, "names", "k,size", ["NULL,1", "a,2"])
    steps = operators(
        ("by-k", "rows", "partitionBy", {"key": "k"}),
        ("sized", "by-k", "joinTable", {"table": "sizes", "on": "k", "type": "left"}),
        ("running", "sized", "aggregate", {"by": ["k"], "select": "sum(n) as s, count(size) as found"}),
        ("totals-out", "running", "sendTo", "totals"),
        ("per-hour", "by-k", "window", {"tumbling": "1h", "by": ["k"], "select": "count(*) as c"}),
        ("hourly-out", "per-hour", "sendTo", "hourly"),
    )
    document = apps.document(
        steps,
        tables={"sizes": {"key": "k", "sideInputs": ["names"]}},
        rows=DATED,
        names={"schema": "k string, size int", "broadcast": True},
        totals={},
        hourly={},
    )
    summary = apps.run(document, tmp_path)
    assert summary.not_used == {"sizes": {"without key": 1}}
    assert apps.last_per_key(tmp_path / "out" / "totals", 1) == {("",): ("", "5", "0"), ("a",): ("a", "2", "1")}
    assert {(row[0], row[3]) for row in apps.rows(tmp_path / "out" / "hourly")} == {("", "3"), ("a", "1")}


@pytest.mark.parametrize("empty", ["", "k,n,at\n"])
@pytest.mark.parametrize("others", [0, 2])
def test_a_file_without_rows_holds_nothing_up(tmp_path, empty, others):
    apps.write_stream(tmp_path, "rows", "k,n,at", *[dated(100)] * others)
    for name in ("empty-1.csv", "empty-2.csv"):
        (tmp_path / "rows" / name).write_text(empty)
    steps = operators(
        ("by-k", "rows", "partitionBy", {"key": "k"}),
        ("daily", "by-k", "window", {"tumbling": "1d", "by": ["k"], "select": "count(*) as c"}),
        ("sent", "daily", "sendTo", "out"),
    )
    summary = apps.run(apps.document(steps, rows=DATED, out={}), tmp_path)
    assert all(stream.ended == stream.partitions for stream in summary.streams)
    assert sum(int(row[3]) for row in apps.rows(tmp_path / "out" / "out")) == 100 * others


FUNCTION = """
def positive(batch):
    if any(n < 0 for n in batch["n"].to_pylist()):
        raise ValueError("below zero")
    return batch.append_column("size", batch["n"])
"""
POSITIVE = {"function": "positive_numbers:positive", "schema": "k string, n int, size bigint"}


def signed(folder, processors=2, **job):
    """Write an app with a function that takes no negative numbers, of which there are some in each file."""
    (folder / "positive_numbers.py").write_text(FUNCTION)
    files = [[line.replace(",", ",-") if n % 17 == 5 else line for n, line in enumerate(numbers(c))] for c in (40, 100)]
    apps.write_stream(folder, "rows", "k,n", *files)
    steps = operators(
        ("by-k", "rows", "partitionBy", {"key": "k"}),
        ("sized", "by-k", "process", POSITIVE),
        ("sent", "sized", "sendTo", "out"),
    )
    expected = pairs(line for file in files for line in file if "-" not in line)
    return apps.document(steps, rows=NUMBERS, out={}, job=job, processors=processors), expected


@pytest.mark.usefixtures("forget_modules")
def test_a_function_that_fails_stops_the_app_with_the_place_of_the_batch(tmp_path):
    document, _ = signed(tmp_path)
    with pytest.raises(RuntimeFailure) as caught:
        apps.run(document, tmp_path)
    assert str(caught.value).startswith("log.by-k[")
    assert "operator `sized`: function positive_numbers:positive: ValueError: below zero (positive" in str(caught.value)


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("processors", [1, 2])
def test_rows_that_a_function_fails_on_are_skipped_and_counted(tmp_path, processors):
    document, expected = signed(tmp_path, processors, onError="skip")
    summary = apps.run(document, tmp_path)
    assert summary.not_used == {"sized": {"failed": 9}}
    assert len(summary.bad_rows) == 9
    assert all(row.startswith("log.by-k[") and '"n":-' in row for row in summary.bad_rows)
    assert Counter(row[:2] for row in apps.rows(tmp_path / "out" / "out")) == expected


@pytest.mark.usefixtures("forget_modules")
def test_a_function_after_a_window_says_that_a_watermark_released_its_rows(tmp_path):
    (tmp_path / "no_windows.py").write_text("def none(batch):\n    raise ValueError('no')\n")
    apps.write_stream(tmp_path, "rows", "k,n,at", dated(10))
    steps = operators(
        ("by-k", "rows", "partitionBy", {"key": "k"}),
        ("daily", "by-k", "window", {"tumbling": "1d", "by": ["k"], "select": "count(*) as c"}),
        ("none", "daily", "process", {"function": "no_windows:none", "schema": "k string"}),
        ("sent", "none", "sendTo", "out"),
    )
    with pytest.raises(RuntimeFailure, match=r"^rows that a watermark released: operator `none`: function no_windows"):
        apps.run(apps.document(steps, rows=DATED, out={}), tmp_path)
