"""Warnings about state that grows for ever."""

import pytest

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.render import to_document
from support.plan_documents import accepted, document, planned

JOIN = {"join": {"with": "b", "on": "k"}}
FIRST = {"dedup": {"by": ["k"]}}
LAST = {"dedup": {"by": ["k"], "keep": "last"}}
TOP = {"topN": {"by": ["k"], "orderBy": "v", "n": 1}}


def app(kind, **stream):
    """One operator over `a`; `b` is the other side of a join."""
    operators = [{"name": "kept", "from": "a", **kind}, {"name": "sent", "from": "kept", "sendTo": "out"}]
    streams = {"a": {"schema": "k string, v int", "key": "k", **stream}, "out": {}}
    if "join" in kind:
        streams["b"] = {"schema": "k string, w int", "key": "k", **stream}
    return document(operators, streams=streams)


@pytest.mark.parametrize(
    ("kind", "path", "kept", "repair"),
    [
        (JOIN, "spec.operators[0].join", "all rows of both sides", "set `within`"),
        (FIRST, "spec.operators[0].dedup", "every value of `k`", "set `within`"),
        (LAST, "spec.operators[0].dedup", "every value of `k`", "window"),
        (TOP, "spec.operators[0].topN", "the first rows of every value of `k`", "window"),
    ],
)
def test_what_is_kept_for_ever_is_warned_of_unless_that_is_meant(kind, path, kept, repair):
    (warning,) = accepted(app(kind)).warnings
    assert (warning.path, str(warning.code)) == (path, "StateGrows")
    assert kept in warning.message
    assert repair in warning.repair
    ((name, fields),) = kind.items()
    assert accepted(app({name: {**fields, "ttl": "forever"}})).warnings == ()
    assert accepted(app(kind, bounded=True)).warnings == ()


@pytest.mark.parametrize(
    "kind",
    [
        {"join": {"with": "b", "on": "k", "within": "1h"}},
        {"dedup": {"by": ["k"], "within": "1h"}},
        {"aggregate": {"by": ["k"], "select": "count(*) as n"}},
        {"window": {"tumbling": "1h", "by": ["k"], "topN": {"orderBy": "v", "n": 1}}},
    ],
)
def test_what_is_bounded_or_a_result_is_not_warned_of(kind):
    assert accepted(app(kind)).warnings == ()


def test_state_is_bounded_once():
    for kind in (JOIN, FIRST):
        ((name, fields),) = kind.items()
        (problem,) = planned(app({name: {**fields, "within": "1h", "ttl": "forever"}})).problems
        assert "`within` bounds the state already" in problem.message


def test_saying_that_it_is_meant_keeps_the_state():
    for kind in (JOIN, FIRST, LAST, TOP):
        ((name, fields),) = kind.items()
        assert accepted(app({name: {**fields, "ttl": "forever"}})).stores == accepted(app(kind)).stores


def test_the_document_of_a_plan_has_its_warnings():
    result = planned(app(FIRST))
    model = build_job_model(result.plan, processors={"0": "node-a"}).to_document()
    (warning,) = to_document(result, model)["warnings"]
    assert warning["path"] == "spec.operators[0].dedup"
    assert list(warning) == ["path", "code", "message", "repair"]
