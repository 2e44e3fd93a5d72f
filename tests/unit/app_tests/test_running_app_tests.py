"""`streamapp test`: tests pass and fail as they should, in whatever circumstances, and say why."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.app_tests.circumstances import ALL_CIRCUMSTANCES
from streamapp_runtime.app_tests.app_process import AppProcess, Outcome, StartRequest
from support import apps

PROCESS = {"function": "mine:f", "schema": "carrier string, delay double"}
ROWS = [{"carrier": carrier, "delay": delay} for carrier, delay in [("AA", 20), ("UA", 30), ("AA", 40), ("UA", 50)]]


def write(folder, tests, code=None):
    """Write an app that sends late flights on, or what a function makes of them, and its tests."""
    document = apps.stateless("kafka")
    if code is not None:
        (folder / "mine.py").write_text(code)
        document["spec"]["operators"].insert(1, {"name": "made", "from": "late", "process": PROCESS})
        document["spec"]["operators"][2]["from"] = "made"
    (folder / "app.yaml").write_text(json.dumps(document))
    (folder / "app.tests.yaml").write_text(json.dumps({"tests": tests}))


def run(folder, *options):
    """Run the tests, and return the exit code and what was printed."""
    result = CliRunner().invoke(app, ["test", str(folder / "app.yaml"), *options])
    return result.exit_code, result.output


def case(name, expected, rows=ROWS):
    return {"name": name, "given": {"flights": rows}, "expect": {"out": expected}}


def test_records_that_cannot_be_read_are_skipped_or_end_the_app(tmp_path):
    bad = [ROWS[0], {"__unreadable": "no row"}, ROWS[1]]
    fails = {"name": "ends", "given": {"flights": bad}, "fails": "flights[0]"}
    write(
        tmp_path, [fails, fails | {"name": "otherwise", "fails": "of a kind"}, fails | {"name": "never", "given": {}}]
    )
    code, output = run(tmp_path)
    assert code == 1
    assert re.findall(r"^  (passed|FAILED)  (.*)$", output, re.MULTILINE) == [
        ("passed", "ends"),
        ("FAILED", "otherwise"),
        ("FAILED", "never"),
    ]
    assert "the app failed: it was to fail with: of a kind; it failed with: " in output
    assert "the app failed: it came to its end, and was to fail with: flights[0]" in output
    write(tmp_path, [case("skips", ROWS[:2], bad)])
    document = json.loads((tmp_path / "app.yaml").read_text())
    document["spec"]["job"] = {"onError": "skip"}
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    assert run(tmp_path)[0] == 0


def test_changes_of_a_table_are_given_with_what_they_delete(tmp_path):
    document = apps.document(
        [
            {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "counted", "from": "by-k", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
            {"name": "sent", "from": "counted", "sendTo": "out"},
        ],
    )
    document["spec"]["systems"]["lake"] = {"delta": {"path": "lake"}}
    changed = {"system": "lake", "schema": "id int, k string", "key": "id", "changes": "upsert"}
    document["spec"]["streams"] = {"in": changed, "out": {"system": "log", "key": "k"}}
    rows = [{"id": 1, "k": "a"}, {"id": 2, "k": "b"}, {"id": 1, "__op": "d"}]
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    tests = [{"name": "counts", "given": {"in": rows}, "expect": {"out": [{"k": "b", "n": 1}]}}]
    (tmp_path / "app.tests.yaml").write_text(json.dumps({"tests": tests}))
    code, output = run(tmp_path)
    assert code == 0, output


def test_rows_are_compared_in_any_order_or_in_that_of_a_key(tmp_path):
    mixed = [ROWS[1], ROWS[3], ROWS[0], ROWS[2]]
    wrong = [ROWS[0], ROWS[3], ROWS[2], ROWS[1]]
    write(
        tmp_path,
        [
            case("any", wrong),
            case("by key", {"inOrder": "carrier", "rows": mixed}),
            case("wrong", {"inOrder": "carrier", "rows": wrong}),
            case("of partitions", ROWS, [ROWS[:2], ROWS[2:]]),
            case("filtered", [], [{"carrier": "AA", "delay": 1}]),
        ],
    )
    code, output = run(tmp_path, "--once", "--junit", str(tmp_path / "junit.xml"))
    assert code == 1
    assert re.findall(r"^  (passed|FAILED)  (.*)$", output, re.MULTILINE) == [
        ("passed", "any"),
        ("passed", "by key"),
        ("FAILED", "wrong"),
        ("passed", "of partitions"),
        ("passed", "filtered"),
    ]
    assert re.findall(r"^    ([-+]) (.*)$", output, re.MULTILINE) == [
        ("-", '{"carrier":"UA","delay":50}'),
        ("-", '{"carrier":"UA","delay":30}'),
        ("+", '{"carrier":"UA","delay":30}'),
        ("+", '{"carrier":"UA","delay":50}'),
    ]
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
    assert [found.get("name") for found in suite if len(found)] == ["wrong [as it is]"]


def test_what_depends_on_batches_is_found(tmp_path):
    code = (
        "batches = 0\ndef f(rows):\n    global batches\n    batches += 1\n    return rows[: 4 if batches < 2 else 0]\n"
    )
    write(tmp_path, [case("memory", ROWS)], code)
    code, output = run(tmp_path)
    assert code == 1
    assert "out (row by row, in one processor" in output
    assert "they depend on chance" in output


CITIES = """
apiVersion: streamapp.dev/v1alpha1
kind: StreamApp
metadata: {name: cities}
spec:
  systems:
    kafka: {kafka: {bootstrapServers: "kafka:9092", schemaRegistry: {url: "http://registry"}}}
    files: {file: {path: .}}
    lake: {delta: {path: lake}}
  defaultSystem: kafka
  streams:
    customers: {system: kafka, schema: "id int, name string, city string", key: id, keyFormat: int, changes: upsert}
    ages: {system: lake, schema: "id int, age int"}
    orders:
      system: kafka
      format: avro
      schema: "id bigint, status string, amount decimal(10,2), by string, changed_at timestamp, seen bigint"
      key: id
      changes: debezium
      debezium: {columns: {by: source.user, changed_at: source.ts_us, seen: ts_ms}}
      eventTime: {column: changed_at}
    counts: {system: kafka, key: city}
    paid: {system: files}
    history: {system: kafka, changes: log}
    files: {system: files, format: csv, csv: {nullValue: none}}
    old: {system: lake}
  operators:
    - {name: by-city, from: customers, partitionBy: {key: city}}
    - {name: living, from: by-city, aggregate: {by: [city], select: "count(*) as n"}}
    - {name: counts-out, from: living, sendTo: counts}
    - {name: history-out, from: living, sendTo: history}
    - {name: files-out, from: living, sendTo: files}
    - {name: of-paid, from: orders, filter: status = 'paid'}
    - {name: paid-out, from: of-paid, sendTo: paid}
    - {name: aged, from: ages, filter: age > 60}
    - {name: old-out, from: aged, sendTo: old}
"""


def test_changes_are_compared_as_the_table_at_the_end(tmp_path):
    customers = [
        {"id": 1, "name": "ann", "city": "Rome"},
        {"id": 2, "name": "bob", "city": "Oslo"},
        {"id": 3, "name": "cid", "city": "Rome"},
        {"id": 2, "name": "bob", "city": "Rome"},
        {"id": 3, "__op": "d"},
    ]
    at = {"by": "me", "changed_at": "2024-05-01T09:00:00.000001Z", "seen": 1714550400000}
    orders = [
        {"id": 1, "status": "new", "amount": 2.5, **at},
        {"id": 2, "status": "paid", "amount": 3, **at},
        {"id": 1, "status": "paid", "amount": 2.5, **at},
        {"id": 3, "status": "paid", "amount": 4, **at},
        {"id": 3, "__op": "d", **at},
    ]
    table = [{"city": "Rome", "n": 2}]
    test = {
        "name": "table",
        "given": {"customers": customers, "orders": orders, "ages": [{"id": 1, "age": 61}, {"id": 2, "age": 60}]},
        "expect": {
            **dict.fromkeys(("counts", "history", "files"), table),
            "old": [{"id": 1, "age": 61}],
            "paid": orders[1:3],
            "living": table,
        },
    }
    (tmp_path / "app.yaml").write_text(CITIES)
    (tmp_path / "app.tests.yaml").write_text(json.dumps({"tests": [test]}))
    code, output = run(tmp_path)
    assert code == 0, output


def test_an_app_that_fails_says_why_and_one_that_hangs_is_killed(tmp_path):
    code = (
        "import threading\n"
        "def f(rows):\n"
        "    if 'hang' in rows['carrier'].to_pylist():\n"
        "        threading.Event().wait()\n"
        "    raise ValueError('no [red] flights')\n"
    )
    hanging = [{"carrier": "hang", "delay": 20}]
    write(tmp_path, [case("fails", ROWS), case("hangs", ROWS, hanging)], code)
    code, output = run(tmp_path, "--once", "-k", "FAIL")
    assert (code, "ValueError: no [red] flights (mine.py, line 5)" in output) == (1, True), output
    code, output = run(tmp_path, "--once", "-k", "hang", "--timeout", "3")
    assert (code, "the app did not end within 3 s" in output) == (1, True), output


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--tests", "none.yaml"], "none.yaml: No such file"), (["-k", "none"], "no test with `none` in its name")],
)
def test_files_and_names_that_are_not_there_are_told(tmp_path, options, said):
    write(tmp_path, [case("any", ROWS)])
    code, output = run(tmp_path, *options)
    assert (code, said in output) == (2, True), output


def test_an_app_without_tests_is_told_where_they_go(tmp_path):
    write(tmp_path, [case("any", ROWS)])
    (tmp_path / "app.tests.yaml").unlink()
    code, output = run(tmp_path)
    assert (code, "write them into" in output) == (2, True), output


def test_an_app_dies_at_each_step_of_a_commit_and_goes_on(tmp_path):
    document = apps.document(
        [
            {"name": "late", "from": "flights", "filter": "delay > 15"},
            {"name": "sent", "from": "late", "sendTo": "out"},
        ],
        flights={"schema": "carrier string, delay double"},
        out={},
    )
    apps.write_stream(tmp_path, "flights", "carrier,delay", ["AA,20", "UA,3", "UA,30"])
    (killing,) = (one for one in ALL_CIRCUMSTANCES if one.deaths)
    for death in [*killing.deaths, ""]:
        request = StartRequest(
            text=json.dumps(document),
            folder=str(tmp_path),
            state=str(tmp_path / "state"),
            fail_point=death.replace(":2", ":1"),
            rows_at_once=1,
        )
        outcome = AppProcess(request).outcome()
        assert outcome == (Outcome(killed=True) if death else Outcome(completed=True)), death
    assert sorted(apps.rows(tmp_path / "out" / "out")) == [("AA", "20"), ("UA", "30")]
