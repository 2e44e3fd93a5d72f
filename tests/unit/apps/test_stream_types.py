"""Rows that must meet meet, and each is written once: apps that were accepted and wrong, as their users see them."""

from collections import Counter

import pytest

from streamapp_runtime.errors import PlanRefused
from support import apps
from support.plan_documents import planned, repaired

SCHEMA = "k string, n int, at timestamp"
TOTAL = {"aggregate": {"by": ["k"], "select": "count(*) as c"}}


def rows(count, first=0):
    return [f"k{n % 5},{n},2024-05-01T00:00:{n % 60:02}Z" for n in range(first, first + count)]


def chain(*operators):
    return [{"name": name, "from": source, **config} for name, source, config in operators]


def last_results(folder):
    return Counter(apps.last_per_key(folder / "out" / "out", 1).values())


def test_an_app_of_broadcast_streams_reads_and_writes_everything_once(tmp_path):
    apps.write_stream(tmp_path, "rows", "k,n,at", rows(10), rows(7, 10))
    operators = chain(("some", "rows", {"filter": "n % 2 = 0"}), ("sent", "some", {"sendTo": "out"}))
    streams = {"rows": {"schema": SCHEMA, "broadcast": True}, "out": {}}
    summary = apps.run(apps.document(operators, processors=2, **streams), tmp_path)
    assert [row[1] for row in sorted(apps.rows(tmp_path / "out" / "out"), key=lambda row: int(row[1]))] == [
        str(n) for n in range(0, 17, 2)
    ]
    assert summary.written == {"out": 9}


@pytest.mark.parametrize("processors", [1, 3])
def test_rows_of_every_task_go_through_a_shuffle_once(tmp_path, processors):
    apps.write_stream(tmp_path, "rows", "k,n,at", rows(20))
    apps.write_stream(tmp_path, "others", "k,n,at", rows(4), rows(4), rows(4))
    operators = chain(
        ("everywhere", "rows", {"broadcast": {}}),
        ("again", "everywhere", {"broadcast": {}}),
        ("by-k", "again", {"partitionBy": {"key": "k"}}),
        ("total", "by-k", TOTAL),
        ("sent", "total", {"sendTo": "out"}),
        ("others-sent", "others", {"sendTo": "rest"}),
    )
    streams = {"rows": {"schema": SCHEMA}, "others": {"schema": SCHEMA}, "out": {}, "rest": {}}
    apps.run(apps.document(operators, processors=processors, **streams), tmp_path)
    assert last_results(tmp_path) == {(f"k{n}", "4"): 1 for n in range(5)}


def test_merged_files_with_a_key_are_refused_and_the_repair_counts_every_key_once(tmp_path):
    apps.write_stream(tmp_path, "rows", "k,n,at", rows(20), rows(13, 20))
    apps.write_stream(tmp_path, "others", "k,n,at", rows(9), rows(4), rows(2))
    operators = chain(
        ("both", ["rows", "others"], {"merge": {}}), ("total", "both", TOTAL), ("sent", "total", {"sendTo": "out"})
    )
    streams = {"rows": {"schema": SCHEMA, "key": "k"}, "others": {"schema": SCHEMA, "key": "k"}, "out": {}}
    document = apps.document(operators, processors=2, **streams)
    with pytest.raises(PlanRefused, match="GroupKeyMismatch"):
        apps.run(document, tmp_path)
    (problem,) = planned(document, {"rows": 2, "others": 3, "out": 1}).problems
    apps.run(repaired(document, problem.repair), tmp_path)
    expected = Counter(line.split(",")[0] for line in [*rows(33), *rows(9), *rows(4), *rows(2)])
    assert last_results(tmp_path) == {(k, str(count)): 1 for k, count in expected.items()}


@pytest.mark.parametrize("table", [False, True])
def test_streams_of_any_split_meet_what_every_task_has(tmp_path, table):
    apps.write_stream(tmp_path, "rows", "k,n,at", rows(8), rows(9, 8))
    apps.write_stream(tmp_path, "others", "k,n,at", rows(3), rows(3, 3), rows(3, 6))
    apps.write_stream(tmp_path, "names", "nk,name,at", [f"k{n},name{n},2024-05-01T00:00:30Z" for n in range(4)])
    join = {"join": {"with": "names", "on": {"left": "k", "right": "nk"}, "type": "left", "within": "1h"}}
    if table:
        join = {"joinTable": {"table": "named", "on": "k", "type": "left"}}
    operators = chain(
        ("both", ["rows", "others"], {"merge": {}}),
        ("plain", "both", {"map": "k, n"}),
        ("found", "plain", join),
        ("listed", "found", {"map": "k, n, name"}),
        ("sent", "listed", {"sendTo": "out"}),
    )
    names = {"schema": "nk string, name string, at timestamp", "broadcast": True}
    streams = {"rows": {"schema": SCHEMA}, "others": {"schema": SCHEMA}, "names": names, "out": {}}
    tables = {"named": {"key": "nk", "value": "name", "sideInputs": ["names"]}} if table else None
    apps.run(apps.document(operators, tables=tables, processors=2, **streams), tmp_path)
    read = [line.split(",")[:2] for line in [*rows(17), *rows(9)]]
    expected = Counter((k, n, "" if k == "k4" else k.replace("k", "name")) for k, n in read)
    assert apps.row_counts(tmp_path / "out" / "out") == expected
