"""Variants where they can't be are refused by the planner, each with what to do instead."""

import pytest

from support.plan_documents import accepted, document, found, planned, repaired

SYSTEMS = {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}}
IN = {"system": "log", "schema": "k string, at timestamp, v variant, a array<variant>", "key": "k"}
TIMED = {**IN, "eventTime": {"column": "at"}}
COUNTS = {"in": 2, "other": 2, "out": 2, "side": 2}
FUNCTION = {"function": "m:f", "parameters": "s string", "returns": "string"}


def app(*operators, streams=None, **spec):
    read = "in"
    named = []
    for number, operator in enumerate(operators):
        named.append({"name": f"o{number}", "from": read, **operator})
        read = f"o{number}"
    named.append({"name": "sent", "from": read, "sendTo": "out"})
    declared = {"in": TIMED, "out": {"system": "log"}, **(streams or {})}
    return document(named, streams=declared, systems=SYSTEMS, **spec)


OTHER = {"other": {**IN, "schema": "k string, t timestamp, w variant, z variant", "eventTime": {"column": "t"}}}
SIDE = {"side": {**IN, "schema": "k string, v variant"}}
TABLE = {"sideInputs": ["side"], "key": "k"}
JOIN = {"joinTable": {"table": "t", "on": "k"}}


@pytest.mark.parametrize(
    "refused, path, says",
    [
        (app({"partitionBy": {"key": "v"}}), "operators[0].partitionBy.key", "variant_get(v, '$.id', 'string')"),
        (
            app({"joinTable": {"table": "t", "on": "v"}}, streams=SIDE, tables={"t": TABLE}),
            "operators[0].joinTable.on",
            "a key is a plain value",
        ),
        (app(JOIN, streams=SIDE, tables={"t": {**TABLE, "key": "v"}}), "tables.t.key", "a key is a plain value"),
        (app(streams={"in": {**TIMED, "key": "v"}}), "streams.in.key", "a key is a plain value"),
        (app(streams={"out": {"system": "log", "key": "v"}}), "streams.out.key", "a key is a plain value"),
        (
            app({"join": {"with": "other", "on": {"left": "v", "right": "w"}, "within": "1h"}}, streams=OTHER),
            "operators[0].join.on",
            "a key is a plain value",
        ),
        (app(streams={"out": {"system": "files", "format": "csv"}}), "streams.out.format", "json has"),
        (app(streams={"out": {"system": "files", "format": "parquet"}}), "streams.out.format", "json has them"),
        (
            app(streams={"in": {"system": "files", "format": "parquet", "schema": "k string, s struct<v:variant>"}}),
            "streams.in.format",
            "column `s`",
        ),
        (
            app(streams={"in": {"system": "files", "format": "csv", "schema": "k string, v variant"}}),
            "streams.in.format",
            "CSV has no form for",
        ),
        (
            app({"process": {"function": "m:f", "schema": "k string"}}),
            "operators[0].process.function",
            "variant_get(v, '$.a', 'int') as a`, or write `to_json(v)`",
        ),
        (
            app({"map": "k"}, {"process": {"function": "m:f", "schema": "a map<string,variant>"}}),
            "operators[1].process.schema",
            "declare a string that is JSON",
        ),
        (
            app({"process": {"function": "m:f", "schema": "k string", "state": {"key": "v"}}}),
            "operators[0].process.state.key",
            "a key is a plain value",
        ),
        (
            app(JOIN, streams=SIDE, tables={"t": {"sideInputs": ["side"], "extractor": {"function": "m:f"}}}),
            "tables.t.extractor",
            "column `v`",
        ),
        (
            app(functions={"f": {**FUNCTION, "parameters": "v variant"}}),
            "functions.f.parameters",
            "no Python function takes variants",
        ),
        (
            app(functions={"f": {**FUNCTION, "returns": "array<variant>"}}),
            "functions.f.returns",
            "no Python function returns variants",
        ),
    ],
)
def test_a_variant_is_refused_where_it_can_not_be(refused, path, says):
    problems = planned(refused, COUNTS).problems
    here = [problem for problem in problems if problem.path == f"spec.{path}" and problem.code == "NotSupported"]
    assert {says in problem.message for problem in here} == {True}, problems
    for problem in problems:
        if problem.repair is not None:
            assert (str(problem.code), problem.path) not in found(repaired(refused, problem.repair), COUNTS)


@pytest.mark.parametrize(
    "refused, path, says",
    [
        (
            app({"aggregate": {"by": ["v"], "select": "count(*) as n"}}),
            "operators[0].aggregate",
            "group by what is inside of it",
        ),
        (
            app({"window": {"tumbling": "1h", "by": ["a"], "select": "count(*) as n"}}),
            "operators[0].window",
            "group by what is inside of it",
        ),
        (app({"filter": "v = v"}), "operators[0].filter", "variants can't be compared"),
        (app({"map": "k, greatest(v, v) as m"}), "operators[0].map", "variants can't be compared"),
        (app({"aggregate": {"by": ["k"], "select": "max(v) as m"}}), "operators[0].aggregate", "variant_get("),
        (
            app({"map": "f(v) as x"}, functions={"f": {"function": "m:f", "returns": "string"}}),
            "operators[0].map",
            "takes no variants",
        ),
    ],
)
def test_an_expression_that_compares_variants_or_gives_them_away_is_refused(refused, path, says):
    problems = planned(refused, COUNTS).problems
    assert any(problem.path.startswith(f"spec.{path}") and says in problem.message for problem in problems), problems


@pytest.mark.parametrize(
    "supported",
    [
        app(),
        app({"partitionBy": {"key": "k"}}, {"filter": "variant_get(v, '$.a', 'int') > 1"}),
        app({"map": "k, parse_json(k) as p, at"}, {"broadcast": {}}),
        app({"flatMap": "k, variant_explode(v)"}),
        app({"aggregate": {"by": ["k"], "select": "schema_of_variant_agg(v) as t, count(v) as n"}}),
        app({"join": {"with": "other", "on": "k", "within": "1h"}}, streams=OTHER),
        app(
            JOIN, streams={"side": {"system": "log", "key": "k", "schema": "k string, w variant"}}, tables={"t": TABLE}
        ),
        app(
            {"map": "k, to_json(v) as v"},
            {"process": {"function": "m:f", "schema": "k string"}},
            streams={"out": {"system": "files", "format": "parquet"}},
        ),
    ],
)
def test_a_variant_goes_wherever_rows_go(supported):
    accepted(supported, COUNTS)
