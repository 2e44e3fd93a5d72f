"""Scalar functions of apps: their declarations, and the calls in expressions, are checked when the app is planned."""

import re

import pytest

from streamapp_core.problems import ProblemCode
from support.plan_documents import accepted, document, planned

FUNCTIONS = {
    "near": {"function": "geo:near", "parameters": "a double, b double", "returns": "boolean"},
    "Tags": {"function": "geo:tags", "returns": "array<string>", "rows": True},
}
STREAMS = {
    "in": {"system": "log", "schema": "k string, n int, f double, a array<int>", "key": "k"},
    "out": {"system": "log"},
}


def app(operator, functions=None, **spec):
    operators = [{"name": "o", "from": "in", **operator}, {"name": "sent", "from": "o", "sendTo": "out"}]
    return document(operators, streams=STREAMS, functions={**FUNCTIONS, **(functions or {})}, **spec)


def problems(spec):
    return [(problem.path, problem.code, problem.message) for problem in planned(spec, {"in": 2, "out": 2}).problems]


@pytest.mark.parametrize(
    "operator",
    [
        {"filter": "near(n, '1.5') and NEAR(f, f)"},
        {"map": "k, tags(k, n, a, struct(n, f)) as t"},
        {"map": "transform(a, e -> near(e, n)) as t"},
        {"flatMap": "explode(tags(k)) as tag"},
        {"map": "size(tags(cast(null as string))) as t"},
    ],
)
def test_functions_are_called_like_those_of_spark(operator):
    plan = accepted(app(operator), {"in": 2, "out": 2})
    assert [signature.name for signature in plan.functions] == ["near", "Tags"]


@pytest.mark.parametrize(
    "operator, message",
    [
        ({"filter": "near(n)"}, r"near takes other arguments than these 1: near\(a double, b double\)"),
        ({"filter": "near(n, a)"}, r"b of near\(a double, b double\): expected double, got array<int>"),
        ({"filter": "tags(k)"}, "array<string>"),
        ({"map": "tags() as t"}, r"other arguments than these 0: Tags\(any values\)"),
        ({"map": "tags(null) as t"}, "null without a type"),
        ({"map": "tags(array()) as t"}, "null without a type"),
        ({"map": "tags(interval 1 day) as t"}, "interval"),
        ({"filter": "nearr(n, n)"}, "there is no function nearr; did you mean near"),
        (
            {"aggregate": {"by": ["k"], "select": "count_if(near(n, n)) as c"}},
            "near is a function of the app, which can't be called here: compute it in a `map` before",
        ),
    ],
)
def test_wrong_calls_are_refused(operator, message):
    ((path, _, told),) = problems(app(operator))
    assert path == f"spec.operators[0].{next(iter(operator))}" + (".select" if "aggregate" in operator else "")
    assert re.search(message, told)


def test_keys_of_tables_are_computed_before():
    streams = {**STREAMS, "side": {"system": "log", "schema": "n int", "key": "n"}}
    tables = {"t": {"sideInputs": ["side"], "key": "near(n, n)"}}
    spec = app({"joinTable": {"table": "t", "on": "k"}})
    spec["spec"] |= {"streams": document([], streams=streams)["spec"]["streams"], "tables": tables}
    assert ("spec.tables.t.key", ProblemCode.INVALID_EXPRESSION) in [told[:2] for told in problems(spec)]


@pytest.mark.parametrize(
    "name, code",
    [
        ("abs", ProblemCode.DUPLICATE_NAME),
        ("Count", ProblemCode.DUPLICATE_NAME),
        ("explode", ProblemCode.DUPLICATE_NAME),
        ("transform", ProblemCode.DUPLICATE_NAME),
        ("now", ProblemCode.DUPLICATE_NAME),
        ("NEAR", ProblemCode.DUPLICATE_NAME),
        ("a-b", ProblemCode.INVALID_NAME),
        ("1a", ProblemCode.INVALID_NAME),
        ("a b", ProblemCode.INVALID_NAME),
        ("case", ProblemCode.INVALID_NAME),
        ("cast", ProblemCode.INVALID_NAME),
        ("x); drop table t; --", ProblemCode.INVALID_NAME),
    ],
)
def test_names_that_mean_something_else_are_refused(name, code):
    more = {name: {"function": "geo:f", "returns": "int"}}
    ((path, told, _),) = problems(app({"filter": "near(n, n)"}, more))
    assert (path, told) == (f"spec.functions.{name}", code)


@pytest.mark.parametrize(
    "declared, field",
    [
        ({"function": "geo:f", "returns": "integers"}, "returns"),
        ({"function": "geo:f", "returns": "int", "parameters": "a"}, "parameters"),
        ({"function": "geo", "returns": "int"}, "function"),
        ({"function": "geo:f", "returns": "int", "slow": True}, "slow"),
    ],
)
@pytest.mark.parametrize("call", ["f(n) > 1", "exists(a, e -> f(e) > n)"])
def test_of_calls_of_a_broken_function_nothing_more_is_said(declared, field, call):
    told = problems(app({"filter": call}, {"f": declared}))
    assert [path for path, _, _ in told] == [f"spec.functions.f.{field}"]
