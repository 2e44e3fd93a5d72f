"""Apps that the API server refuses and accepts: each CEL rule, bounds, and random variants of those of the vectors."""

import itertools
import re
from copy import deepcopy

import pytest
from hypothesis import given, settings

from streamapp_core.spec.operators import OperatorKind
from support.custom_resources import RULES, SCHEMA, defaulted, refusals
from support.edited_apps import RIGHT, edited_apps
from support.refused_resources import APP, BY_RULE, BY_SCHEMA, UNKNOWN, changed

WORDS = {
    "required": "Required value",
    "anyOf": "must validate at least one schema (anyOf)",
    "pattern": "should match",
    "minItems": "should have at least",
    "minLength": "should be at least",
    "minimum": "should be greater than or equal to",
    "x-kubernetes-list-map-keys": "Duplicate value",
}
"""The API server's message for each keyword that a value does not fit."""


def rules(schema):
    yield from schema.get(RULES, ())
    for below in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(below, dict):
            yield from rules(below)


OPERATORS = {
    "flatMap": {"name": "words", "from": "a", "flatMap": "k, explode(split(body, ' ')) as word"},
    "process": {"name": "sized", "from": "a", "process": {"function": "baskets:large", "schema": "k string"}},
    "topN": {"name": "latest", "from": "a", "topN": {"by": ["k"], "orderBy": "at desc", "n": 3, "rank": "place"}},
    "sorted": {"name": "in-order", "from": "a", "sorted": {}},
    "dedup": {"name": "once", "from": "a", "dedup": {"by": ["k"], "within": "1h"}},
    "over": {"name": "recent", "from": "a", "over": {"by": ["k"], "rows": 3, "range": "1h", "select": "count(*) as n"}},
    "window": {"name": "hourly", "from": "a", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
}
OPERATORS["sql"] = {"name": "large", "sql": "select k from a where length(k) > 9"}
for _operator in [operator for vector in RIGHT for operator in vector["app"]["spec"]["operators"]]:
    (_kind,) = set(_operator) - {"name", "from"}
    OPERATORS.setdefault(_kind, _operator)


def with_operators(*operators):
    app = deepcopy(APP)
    app["spec"]["operators"] = list(operators)
    return app


def test_a_right_app_is_taken(judge):
    assert judge.causes(APP) == []


def test_keys_of_several_columns_are_taken(judge):
    app = with_operators(
        {"name": "by", "from": "a", "partitionBy": {"key": ["k", "g"]}},
        {"name": "sized", "from": "by", "joinTable": {"table": "t", "on": ["k", "g"]}},
        {"name": "near", "from": "by", "join": {"with": "b", "on": {"left": ["k", "g"], "right": ["x", "y"]}}},
        {"name": "both", "from": "by", "join": {"with": "b", "on": ["k", "g"]}},
        {
            "name": "kept",
            "from": "by",
            "process": {"function": "m:f", "schema": "x int", "state": {"key": ["k", "g"]}},
        },
    )
    app["spec"]["tables"]["t"]["key"] = ["k", "lower(g)"]
    app["spec"]["streams"]["b"]["key"] = ["x", "y"]
    assert judge.causes(app) == []


@pytest.mark.parametrize("path, value, said", BY_RULE.values(), ids=BY_RULE)
def test_a_rule_refuses_what_breaks_it_and_nothing_else_is_said(judge, path, value, said):
    causes = judge.causes(changed(path, value))
    assert [said in cause.message for cause in causes] == [True]


def test_every_rule_has_refused_something(judge):
    messages = {cause.message for path, value, _ in BY_RULE.values() for cause in judge.causes(changed(path, value))}
    for rule in rules(SCHEMA):
        assert any(rule["message"] in message for message in messages), rule["message"]


@pytest.mark.parametrize("path, value, said", BY_SCHEMA.values(), ids=BY_SCHEMA)
def test_the_schema_refuses_what_does_not_fit_it(judge, path, value, said):
    place, _, keyword = said.rpartition(": ")
    causes = judge.causes(changed(path, value))
    assert any(WORDS[keyword] in cause.message and place in cause.field + cause.message for cause in causes), causes


@pytest.mark.parametrize("path, value, said", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_field_is_refused_by_its_name(judge, path, value, said):
    (cause,) = judge.causes(changed(path, value))
    assert re.search(rf'unknown field "spec\S*{re.escape(said.removesuffix(": unknown"))}"$', cause.message)


def test_there_is_an_operator_of_each_kind_to_try():
    assert set(OPERATORS) == set(OperatorKind)


@pytest.mark.parametrize("kind", OPERATORS)
def test_an_operator_of_each_kind_is_taken(judge, kind):
    assert judge.causes(with_operators(OPERATORS[kind])) == []


def test_an_operator_of_any_two_kinds_is_refused(judge):
    for first, second in itertools.combinations(OPERATORS, 2):
        mixed = {**OPERATORS[first], second: OPERATORS[second][second], "from": ["a"]}
        (cause,) = judge.causes(with_operators(mixed))
        assert "exactly one kind" in cause.message, (first, second)


@pytest.mark.parametrize("vector", RIGHT, ids=lambda vector: vector["name"])
def test_every_accepted_app_of_the_vectors_is_stored_with_the_defaults_of_the_models(judge, vector):
    app = vector["app"]
    if "image" not in app["spec"]:
        app = {**app, "spec": {**app["spec"], "image": "image"}}
    assert judge.stored(app)["spec"] == defaulted(app)["spec"]


@settings(max_examples=300)
@given(edited_apps())
def test_our_stand_in_for_the_api_server_judges_as_it_does(judge, edited):
    _, app = edited
    causes = judge.causes(app)
    assert bool(causes) == bool(refusals(app)), (causes, refusals(app))
    if not causes:
        assert judge.stored(app)["spec"] == defaulted(app)["spec"]
