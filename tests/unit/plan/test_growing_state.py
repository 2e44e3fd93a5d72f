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
    assert accepted(app({name: {**fields, "ttl": "7d"}})).warnings == ()
    assert accepted(app(kind, bounded=True)).warnings == ()


def test_the_last_rows_of_a_key_are_warned_of_unless_they_have_a_range():
    (warning,) = accepted(app({"over": {"by": ["k"], "rows": 3, "select": "sum(v) as total"}})).warnings
    assert (warning.path, str(warning.code)) == ("spec.operators[0].over", "StateGrows")
    assert "the last rows of every value of `k`" in warning.message
    assert "set `range`" in warning.repair


@pytest.mark.parametrize(
    "kind",
    [
        {"join": {"with": "b", "on": "k", "within": "1h"}},
        {"dedup": {"by": ["k"], "within": "1h"}},
        {"aggregate": {"by": ["k"], "select": "count(*) as n"}},
        {"over": {"by": ["k"], "rows": 3, "range": "forever", "select": "sum(v) as total"}},
        {"over": {"by": ["k"], "rows": 3, "range": "1h", "select": "sum(v) as total"}},
        {"over": {"by": ["k"], "range": "1h", "select": "sum(v) as total"}},
        {"window": {"tumbling": "1h", "by": ["k"], "topN": {"orderBy": "v", "n": 1}}},
    ],
)
def test_what_is_bounded_or_a_result_is_not_warned_of(kind):
    assert accepted(app(kind)).warnings == ()


@pytest.mark.parametrize(
    ("query", "repair"),
    [
        ("select a.k, a.v, b.w from a join b on a.k = b.k", "bound the event times of both sides"),
        ("select distinct k from a", "behind its `select` how long"),
    ],
)
def test_steps_of_a_query_are_warned_of_with_what_can_be_written_instead(query, repair):
    operators = [{"name": "kept", "sql": query}, {"name": "sent", "from": "kept", "sendTo": "out"}]
    streams = {"a": "k string, v int", "out": {}, **({"b": "k string, w int"} if "join" in query else {})}
    (warning,) = accepted(document(operators, streams=streams)).warnings
    assert warning.path == "spec.operators[0].sql"
    assert repair in warning.repair


def test_state_is_bounded_once():
    for kind in (JOIN, FIRST):
        ((name, fields),) = kind.items()
        (problem,) = planned(app({name: {**fields, "within": "1h", "ttl": "forever"}})).problems
        assert "`within` bounds the state already" in problem.message


TOTAL = {"aggregate": {"by": ["k"], "select": "count(*) as n"}}
KEEP = (JOIN, FIRST, LAST, TOP, TOTAL)


@pytest.mark.parametrize("kind", KEEP)
def test_entries_that_end_are_another_state_and_how_long_they_are_kept_is_not(kind):
    ((name, fields),) = kind.items()
    endless, endless_too, hour, day = (
        accepted(app({name: {**fields, **({} if ttl is None else {"ttl": ttl})}})).stores
        for ttl in (None, "forever", "1h", "1d")
    )
    assert endless == endless_too
    assert hour == day
    assert hour != endless


@pytest.mark.parametrize("kind", [*KEEP, {"dedup": {"by": ["k"], "within": "1h"}}])
def test_what_ends_by_event_time_needs_one(kind):
    ((name, fields),) = kind.items()
    if "within" not in fields:
        fields = {**fields, "ttl": "1h"}
    streams = {"system": "files", "format": "csv", "key": "k", "partitioned": True}
    spec = app({name: fields}, **streams)
    spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
    (problem,) = planned(spec, {"a": 1, "b": 1}).problems
    assert (str(problem.code), problem.path) == (
        "EventTimeMissing",
        f"spec.operators[0].{name}" + (".ttl" if "ttl" in fields else ""),
    )


def test_what_is_told_of_replacements_can_not_forget():
    newest = {"name": "newest", "from": "a", "dedup": {"by": ["k"], "keep": "last", "ttl": "1h"}}
    total = {"name": "total", "from": "newest", "aggregate": {"by": ["k"], "select": "count(*) as n", "ttl": "1h"}}
    sent = {"name": "sent", "from": "total", "sendTo": "out"}
    streams = {"a": "k string, v int", "out": {"key": "k"}}
    (problem,) = planned(document([newest, total, sent], streams=streams)).problems
    assert (str(problem.code), problem.path) == ("ChangesUnsupported", "spec.operators[1].aggregate.ttl")
    del total["aggregate"]["ttl"]
    assert accepted(document([newest, total, sent], streams=streams)).warnings == ()


def test_places_that_belong_together_are_deleted_together():
    def deletes(**fields):
        top = {"topN": {"by": ["k"], "orderBy": "v", **fields}}
        operators = [{"name": "kept", "from": "a", **top}, {"name": "sent", "from": "kept", "sendTo": "out"}]
        spec = document(operators, streams={"a": "k string, v int", "out": {"system": "files", "format": "csv"}})
        spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
        return accepted(spec).operators["kept"].type.deletes

    assert deletes(n=2, rank="place", ttl="1h")
    assert not deletes(n=1, ttl="1h")
    assert not deletes(n=2, rank="place", ttl="forever")


def test_the_document_of_a_plan_has_its_warnings():
    result = planned(app(FIRST))
    model = build_job_model(result.plan, processors={"0": "node-a"}).to_document()
    (warning,) = to_document(result, model)["warnings"]
    assert warning["path"] == "spec.operators[0].dedup"
    assert list(warning) == ["path", "code", "message", "repair"]


def test_rows_of_running_results_are_not_warned_of():
    spec = app(TOP)
    total = {"name": "total", "from": "a", "aggregate": {"by": ["k"], "select": "count(*) as v"}}
    spec["spec"]["operators"] = [
        total,
        {**spec["spec"]["operators"][0], "from": "total"},
        *spec["spec"]["operators"][1:],
    ]
    assert accepted(spec).warnings == ()
