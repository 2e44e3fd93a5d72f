"""Files of tests: all that is wrong with them is told at once, with its place, before anything runs."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from streamapp_core.app_tests.app_test import AppTest, AppTestFile, parse_app_tests
from streamapp_core.app_tests.circumstances import ALL_CIRCUMSTANCES
from streamapp_core.app_tests.tested_app import build_tested_app
from streamapp_core.spec.json_schema import editor_schema
from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_tests.prepare_tests import prepare_tests
from support.edited_apps import RIGHT
from support.repository import ROOT

TESTS = sorted((ROOT / "examples").rglob("*.tests.yaml"))
VALIDATOR = Draft202012Validator(editor_schema(AppTestFile, "tests"))
APP = {
    "apiVersion": "streamapp.dev/v1alpha1",
    "kind": "StreamApp",
    "metadata": {"name": "shop"},
    "spec": {
        "systems": {"kafka": {"kafka": {"bootstrapServers": "kafka:9092"}}, "files": {"file": {"path": "."}}},
        "defaultSystem": "kafka",
        "streams": {
            "orders": {
                "system": "kafka",
                "schema": "item string, n int, at timestamp, place struct<x:int>",
                "eventTime": {"column": "at", "maxOutOfOrderness": "1m", "idleTimeout": "30s"},
            },
            "rates": {"system": "kafka", "schema": "item string, rate double", "key": "item"},
            "stocks": {"system": "kafka", "schema": "item string, left int", "key": "item"},
            "undated": {
                "system": "files",
                "schema": "item string, n int, price decimal(20,2), held struct<prices:array<decimal(20,2)>>",
            },
            "sales": {"system": "kafka"},
            "rated-sales": {"system": "kafka"},
            "stocked-sales": {"system": "kafka"},
            "totals": {"system": "kafka", "key": "item"},
            "copies": {"system": "files"},
            "mixed": {"system": "kafka", "key": "item"},
        },
        "tables": {
            "rate": {"key": "item", "sideInputs": ["rates"]},
            "stock": {"key": "item", "sideInputs": ["stocks"], "bootstrap": False},
        },
        "operators": [
            {"name": "by-item", "from": "orders", "partitionBy": {"key": "item"}},
            {
                "name": "hourly",
                "from": "by-item",
                "window": {"tumbling": "1h", "by": ["item"], "select": "sum(n) as n"},
            },
            {"name": "sales-out", "from": "hourly", "sendTo": "sales"},
            {"name": "rated", "from": "hourly", "joinTable": {"table": "rate", "on": "item"}},
            {"name": "stocked", "from": "hourly", "joinTable": {"table": "stock", "on": "item"}},
            {"name": "rated-out", "from": "rated", "sendTo": "rated-sales"},
            {"name": "stocked-out", "from": "stocked", "sendTo": "stocked-sales"},
            {"name": "total", "from": "by-item", "aggregate": {"by": ["item"], "select": "sum(n) as n"}},
            {"name": "totals-out", "from": "total", "sendTo": "totals"},
            {"name": "mixed-out", "from": "total", "sendTo": "mixed"},
            {"name": "more-out", "from": "undated", "sendTo": "mixed"},
            {"name": "copies-out", "from": "undated", "sendTo": "copies"},
        ],
    },
}


def problems(*tests):
    """Give the paths and codes of the problems of tests of the app."""
    file, found = parse_app_tests(json.dumps({"tests": list(tests)}))
    if file is not None:
        _, more = prepare_tests(APP, parse_document(APP), file.tests, ALL_CIRCUMSTANCES)
        found = (*found, *more)
    return {problem.path: str(problem.code) for problem in found}


def given(**streams):
    return {"name": "x", "given": streams, "expect": {"sales": []}}


def expected(**outputs):
    return {"name": "x", "expect": outputs}


def then(*steps, **streams):
    return {"name": "x", "given": streams, "then": list(steps), "expect": {"sales": []}}


def comes(*partitions, idle="0s"):
    return {"idle": idle, "given": {"orders": list(partitions)}}


def dated(*times):
    return [{"at": f"2024-05-01T{time}Z"} for time in times]


CASES = [
    ({"expect": {"sales": []}}, {"tests[0].name": "InvalidSpec"}),
    ({"name": "x", "expect": {}}, {"tests[0]": "InvalidSpec"}),
    ({"name": "x", "expect": {"sales": []}, "fails": "no row"}, {"tests[0]": "InvalidSpec"}),
    ({"name": "x", "fails": "no row"}, {}),
    (given(orders=[{"__unreadable": "no row"}], undated=[{"__unreadable": '{"n": "many"}'}]), {}),
    (given(orders=[{"__unreadable": '{"n": 1}'}]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    (given(orders=[{"__unreadable": "a\nb"}]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    (given(orders=[{"__unreadable": " "}]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    (given(orders=[{"__unreadable": 7}]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    (given(orders=[{"__unreadable": "no row", "n": 1}]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    ({"name": "x", "expect": {"sales": 3}}, {"tests[0].expect.sales": "InvalidSpec"}),
    ({"name": "x", "expect": {"sales": {"row": []}}}, {
        "tests[0].expect.sales.row": "InvalidSpec", "tests[0].expect.sales.rows": "InvalidSpec"
    }),
    ({**given(), "givn": {}}, {"tests[0].givn": "InvalidSpec"}),
    (given(orders=[3]), {"tests[0].given.orders[0]": "InvalidSpec"}),
    (given(orders=[[{"n": 1}], {"n": 1}]), {"tests[0].given.orders[1]": "InvalidSpec"}),
    (given(orders=[[{"n": 1}, []]]), {"tests[0].given.orders[0][1]": "InvalidSpec"}),
    (given(order=[]), {"tests[0].given.order": "UnknownStream"}),
    (given(sales=[]), {"tests[0].given.sales": "UnknownStream"}),
    (given(orders=[{"m": 1}]), {"tests[0].given.orders[0].m": "UnknownColumn"}),
    (given(orders=[{"place": {"y": 1}}]), {"tests[0].given.orders[0].place.y": "UnknownColumn"}),
    (given(orders=[[], [{"n": "many"}]]), {"tests[0].given.orders[1][0].n": "TypeMismatch"}),
    (given(orders=[{"n": 1.5, "item": 7, "at": "noon"}]), {
        f"tests[0].given.orders[0].{column}": "TypeMismatch" for column in ("at", "item", "n")
    }),
    (given(undated=[{"price": 1234567890123.45}, {"price": 123456789012345678}]), {}),
    (given(undated=[{"price": "123456789012345678.12"}]), {}),
    (given(undated=[{"price": 1234567890123456.78}, {"held": {"prices": [1, 123456789012345.67]}}]), {
        "tests[0].given.undated[0].price": "TypeMismatch", "tests[0].given.undated[1].held": "TypeMismatch"
    }),
    (expected(copies=[{"price": 1234567890123456.78}]), {"tests[0].expect.copies[0].price": "TypeMismatch"}),
    (given(orders=[{"__op": "d"}]), {"tests[0].given.orders[0].__op": "UnknownColumn"}),
    (given(orders=[{"__event_time": "2024-05-01"}]), {"tests[0].given.orders[0].__event_time": "UnknownColumn"}),
    (given(undated=[{"__event_time": "2024-05-01"}]), {"tests[0].given.undated[0].__event_time": "UnknownColumn"}),
    (given(orders=dated("09:00:00", "08:58:59")), {"tests[0].given.orders[1]": "NotSupported"}),
    (given(orders=dated("09:00:00", "08:59:00")), {}),
    (given(orders=[dated("09:00:00"), dated("08:00:00")]), {}),
    (then({}), {"tests[0].then[0]": "InvalidSpec"}),
    (then({"idle": "0s"}), {"tests[0].then[0]": "InvalidSpec"}),
    (then({"idle": "soon"}), {"tests[0].then[0].idle": "InvalidSpec"}),
    (then({"idle": 30}), {"tests[0].then[0].idle": "InvalidSpec"}),
    (then({"idle": "30s"}, {"expect": {"sales": [], "totals": []}}), {}),
    ({"name": "x", "then": [{"expect": {"sales": []}}]}, {}),
    ({"name": "x", "then": [{"expect": {"sales": []}}], "fails": "no"}, {"tests[0]": "InvalidSpec"}),
    (then({"expect": {"sale": []}}), {"tests[0].then[0].expect.sale": "UnknownStream"}),
    (then({"given": {"orders": [{"m": 1}]}}), {"tests[0].then[0].given.orders[0].m": "UnknownColumn"}),
    (then({"given": {"orders": [{"n": "many"}]}}), {"tests[0].then[0].given.orders[0].n": "TypeMismatch"}),
    (then({"given": {"rates": []}}), {"tests[0].then[0].given.rates": "NotSupported"}),
    (then({"given": {"stocks": [{"item": "tea"}]}}), {}),
    # A late row is one in any order, unless its own step raises the watermark beyond it.
    (then(comes(*dated("08:00:00")), orders=dated("09:00:00")), {}),
    (then(comes(*dated("08:59:30", "09:10:00")), orders=dated("09:00:00")), {}),
    (then(comes(*dated("08:00:00", "09:10:00")), orders=dated("09:00:00")), {}),
    (then(comes(*dated("09:10:00", "08:00:00")), orders=dated("09:00:00")), {
        "tests[0].then[0].given.orders[1]": "NotSupported"
    }),
    (then(comes(dated("08:30:00"), dated("09:00:00")), orders=[dated("09:00:00"), dated("08:00:00")]), {
        "tests[0].then[0].given.orders[0][0]": "NotSupported"
    }),
    (then(comes(dated("08:30:00")), comes([], dated("09:00:00")), orders=[dated("09:00:00"), dated("08:00:00")]), {}),
    # Of a partition that is idle, any row may be late if another goes on.
    (then(comes(dated("09:10:00"), dated("09:05:00"), idle="29s"), orders=[dated("09:00:00"), dated("09:00:00")]), {}),
    (then(comes(dated("09:10:00"), dated("09:05:00"), idle="30s"), orders=[dated("09:00:00"), dated("09:00:00")]), {
        "tests[0].then[0].given.orders[1][0]": "NotSupported"
    }),
    (then({"idle": "30s"}, comes([], dated("09:05:00")), orders=[dated("09:00:00"), dated("09:00:00")]), {}),
    (expected(orders=[]), {"tests[0].expect.orders": "UnknownStream"}),
    (expected(hourly=[{"m": 1}]), {"tests[0].expect.hourly[0].m": "UnknownColumn"}),
    (expected(**{"by-item": {"inOrder": "item", "rows": [{"place": {"x": 1}}]}, "total": []}), {}),
    (expected(total={"inOrder": "item", "rows": []}), {"tests[0].expect.total.inOrder": "NotSupported"}),
    (expected(**{"sales-out": []}), {"tests[0].expect.sales-out": "UnknownStream"}),
    (expected(mixed=[]), {"tests[0].expect.mixed": "NotSupported"}),
    (expected(sales=[3]), {"tests[0].expect.sales[0]": "InvalidSpec"}),
    (expected(sales=[{"m": 1}]), {"tests[0].expect.sales[0].m": "UnknownColumn"}),
    (expected(sales=[{"n": "many"}]), {"tests[0].expect.sales[0].n": "TypeMismatch"}),
    (expected(sales={"inOrder": "m", "rows": []}), {"tests[0].expect.sales.inOrder": "UnknownColumn"}),
    (expected(sales={"inOrder": ["item", "n"], "rows": []}), {}),
    (expected(totals={"inOrder": "item", "rows": []}), {"tests[0].expect.totals.inOrder": "NotSupported"}),
]  # fmt: skip


@pytest.mark.parametrize(("test", "found"), CASES)
def test_what_is_wrong_is_told_with_its_place(test, found):
    assert problems(test) == found


@pytest.mark.parametrize(("test", "found"), CASES)
def test_what_editors_mark_is_refused(test, found):
    wrong = best_match(VALIDATOR.iter_errors({"tests": [test]}))
    assert wrong is None or found, wrong.message


@pytest.mark.parametrize("tests", TESTS, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_editors_mark_nothing_in_our_examples(tests):
    assert best_match(VALIDATOR.iter_errors(yaml.safe_load(tests.read_text()))) is None


def test_all_is_told_at_once():
    found = problems(
        given(orders=[{"m": 1}, {"n": "many"}], order=[]), {**expected(sales=[{"m": 1}]), "name": "y"}, given()
    )
    assert found == {
        "tests[0].given.order": "UnknownStream",
        "tests[0].given.orders[0].m": "UnknownColumn",
        "tests[0].given.orders[1].n": "TypeMismatch",
        "tests[1].expect.sales[0].m": "UnknownColumn",
        "tests[2].name": "DuplicateName",
    }


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (given(orders=[{"item": 7}]), "7 is no text: put it in quotes"),
        (given(orders=[{"n": "7"}]), "'7' is no int"),
        (given(orders=[{"at": 7}]), '7 is no timestamp: write it as text, "2024-05-01T09:15:00Z"'),
        (expected(sale=[]), "; did you mean `sales`?"),
        (expected(sales=[{"m": 1}]), "there is no `m` among item, window_start, window_end, n"),
        (then({"given": {"rates": []}}), "give its rows in the test's first `given`"),
        (then(comes(*dated("09:10:00", "08:00:00"))), "the row is 70m before one above it"),
        (
            then(comes(dated("09:10:00"), dated("09:05:00"), idle="30s"), orders=[[], dated("09:00:00")]),
            "it depends on whether tests[0].then[0].given.orders[0][0] is read before it whether the row is late",
        ),
        ({"name": "x", "expect": {}}, "a test has either `expect`, rows by output, or `fails`"),
    ],
)
def test_messages_say_what_to_do(test, said):
    file, found = parse_app_tests(json.dumps({"tests": [test]}))
    if file is not None:
        _, found = prepare_tests(APP, parse_document(APP), file.tests, ALL_CIRCUMSTANCES)
    (problem,) = found
    assert said in problem.message


def test_problems_of_the_app_are_told():
    app = {**APP, "spec": {**APP["spec"], "operators": APP["spec"]["operators"][1:]}}
    _, found = prepare_tests(app, parse_document(app), [AppTest(name="x", expect={"sales": []})], ALL_CIRCUMSTANCES)
    assert {problem.path.partition(".")[0] for problem in found} == {"spec"}


def test_a_key_in_the_partition_of_another_is_an_error_of_the_test_whatever_the_app_does_with_it():
    app = {**APP, "spec": {**APP["spec"], "job": {"onBrokenClaim": "report"}}}
    test = AppTest(name="x", expect={"sales": []})
    (prepared,), _ = prepare_tests(app, parse_document(app), [test], ALL_CIRCUMSTANCES)
    for one in ALL_CIRCUMSTANCES:
        assert build_tested_app(app, prepared.plan, one, "folder")["spec"]["job"]["onBrokenClaim"] == "fail"


@pytest.mark.parametrize("vector", RIGHT, ids=lambda vector: vector["name"])
def test_any_app_that_is_accepted_can_be_tested(vector):
    test = AppTest.model_construct(name="x", given={}, expect={})
    prepared, found = prepare_tests(vector["app"], parse_document(vector["app"]), [test], ALL_CIRCUMSTANCES)
    assert found == ()
    for one in ALL_CIRCUMSTANCES:
        plan = prepared[0].tested_plan(build_tested_app(vector["app"], prepared[0].plan, one, "folder"))
        assert {system.kind for system in plan.app.spec.systems.values()} <= {SystemKind.FILE, SystemKind.LOG}
        assert plan.mode == "bounded"
        declared = prepared[0].plan.app.spec
        assert plan.app.spec.processors.count == (one.processors or declared.processors.count)
        partitions = one.partitions or declared.job.intermediate_stream_partitions
        assert plan.app.spec.job.intermediate_stream_partitions == partitions
