"""Rankings, duplicates and joins without a bound, as the planner sees them."""

import pytest

from support.plan_documents import accepted, document, planned

COLUMNS = "k string, x string, v double, m map<string,int>, s struct<a:int>"
STREAMS = {"a": COLUMNS, "b": "k string, w int", "out": {}}


def app(*operators, **fields):
    """Operators from `a` on, each over the one before; the last one is sent."""
    names = ["a", *(operator["name"] for operator in operators)]
    chained = [{"from": before, **operator} for before, operator in zip(names, operators, strict=False)]
    sent = {"name": "sent", "from": names[-1], "sendTo": "out"}
    used = {name for name in STREAMS if f"'{name}'" in str([*chained, sent])}
    streams = {name: STREAMS[name] for name in used}
    return document([*chained, sent], streams=streams, **fields)


def problems(*operators):
    return [(problem.path, str(problem.code), problem.message) for problem in planned(app(*operators)).problems]


def top(**fields):
    return {"name": "top", "topN": {"by": ["k"], "orderBy": "v desc", "n": 1, **fields}}


def emitted(*operators):
    """The columns of the last operator, and how its rows change."""
    planned_ = accepted(app(*operators)).operators[operators[-1]["name"]]
    return str(planned_.schema), str(planned_.type.changes), str(planned_.type)


def test_a_ranking_adds_the_place_and_its_rows_replace_each_other():
    assert emitted(top()) == (str(accepted(app(top())).streams["a"].schema), "upsert(k)", "hashed(k)")
    columns, changes, _ = emitted(top(n=5, rank="place", by=["X", "k"]))
    assert columns.endswith(", place int")
    assert changes == "upsert(x, k, place)"


def test_duplicates_are_events_or_the_newest_rows():
    assert emitted({"name": "once", "dedup": {"by": ["k"]}})[1] == "append"
    assert emitted({"name": "once", "dedup": {"by": ["k"], "within": "1h"}})[1] == "append"
    assert emitted({"name": "once", "dedup": {"by": ["k", "x"], "keep": "last"}})[1:] == ("upsert(k, x)", "hashed(k)")


def test_the_first_rows_of_a_window_are_final():
    ranked = {"orderBy": "v", "n": 2, "rank": "place"}
    columns, changes, type_ = emitted({"name": "w", "window": {"tumbling": "1h", "by": ["k"], "topN": ranked}})
    assert columns.endswith(", window_start timestamp, window_end timestamp, place int")
    assert (changes, type_) == ("append", "hashed(k)")


def test_a_join_without_a_bound_needs_no_event_times():
    operators = [
        {"name": "left", "from": "a", "map": "k, v"},
        {"name": "met", "from": "left", "join": {"with": "b", "on": "k"}},
        {"name": "sent", "from": "met", "sendTo": "out"},
    ]
    files = {"system": "files", "format": "csv", "key": "k", "partitioned": True}
    streams = {"a": {"schema": "k string, v double", **files}, "b": {"schema": STREAMS["b"], **files}, "out": {}}
    systems = {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}}
    spec = document(operators, streams=streams, systems=systems)
    assert planned(spec, {"a": 1, "b": 1}).problems == ()
    operators[1]["join"]["within"] = "1h"
    assert [str(problem.code) for problem in planned(spec, {"a": 1, "b": 1}).problems] == ["EventTimeMissing"]


@pytest.mark.parametrize(
    ("operator", "path", "code", "part"),
    [
        (top(by=["nothing"]), "spec.operators[0].topN.by", "UnknownColumn", "nothing"),
        (top(by=["x"]), "spec.operators[0].topN.by", "GroupKeyMismatch", "`top` groups by `x`"),
        (top(by=["k", "m"]), "spec.operators[0].topN.orderBy", "TypeMismatch", "`m` in by is map<string,int>"),
        (top(orderBy="nothing desc"), "spec.operators[0].topN.orderBy", "UnknownColumn", "nothing"),
        (top(orderBy="s"), "spec.operators[0].topN.orderBy", "TypeMismatch", "which has no order"),
        (top(orderBy="1"), "spec.operators[0].topN.orderBy", "InvalidExpression", "the same for all rows"),
        (top(orderBy="v desc limit 3"), "spec.operators[0].topN.orderBy", "InvalidExpression", "expressions only"),
        (top(rank="V"), "spec.operators[0].topN", "TypeMismatch", "two columns of the result would be named `V`"),
        (top(n=2), "spec.operators[0].topN", "InvalidSpec", "name the column of the place in `rank`"),
        (top(by=["k", "K"]), "spec.operators[0].topN.by", "TypeMismatch", "`K` stands twice"),
        (top(rank="__event_time"), "spec.operators[0].topN.rank", "InvalidSpec", "that begin with `__` are reserved"),
        (top(rank="a\nb"), "spec.operators[0].topN.rank", "InvalidSpec", "printable characters only"),
        (top(n=0), "spec.operators[0].topN.n", "InvalidSpec", ""),
        (
            {"name": "d", "dedup": {"by": ["k", "s"]}},
            "spec.operators[0].dedup.by",
            "TypeMismatch",
            "`s` in by is struct",
        ),
        ({"name": "d", "dedup": {"by": ["k", "K"]}}, "spec.operators[0].dedup.by", "TypeMismatch", "`K` stands twice"),
        (
            {"name": "w", "window": {"tumbling": "1h", "by": ["k"], "topN": {"orderBy": "v", "n": 1, "rank": "__x"}}},
            "spec.operators[0].window.topN.rank",
            "InvalidSpec",
            "reserved",
        ),
        (
            {"name": "w", "aggregate": {"by": ["k", "k"], "select": "count(*) as n"}},
            "spec.operators[0].aggregate.by",
            "TypeMismatch",
            "`k` stands twice",
        ),
        ({"name": "d", "dedup": {"by": ["y"]}}, "spec.operators[0].dedup.by", "UnknownColumn", "y"),
        ({"name": "d", "dedup": {"by": ["k"], "keep": "last", "within": "1h"}}, None, "InvalidSpec", "keep: first"),
        ({"name": "j", "join": {"with": "b", "on": "k", "type": "left"}}, None, "InvalidSpec", "needs `within`"),
        ({"name": "w", "window": {"tumbling": "1h", "by": ["k"]}}, None, "InvalidSpec", "either `select`"),
        (
            {"name": "w", "window": {"session": "1h", "by": ["k"], "topN": {"orderBy": "v", "n": 1}}},
            None,
            "InvalidSpec",
            "tumbling and sliding",
        ),
    ],
)
def test_what_can_not_be_right_is_refused_at_its_place(operator, path, code, part):
    found = problems(operator)
    assert len(found) == 1, found
    assert found[0][1] == code
    assert part in found[0][2]
    assert path in (None, found[0][0])


@pytest.mark.parametrize(
    "reader",
    [
        {"name": "again", "dedup": {"by": ["k"]}},
        {"name": "again", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
        {"name": "again", "join": {"with": "b", "on": "k"}},
        {"name": "again", "flatMap": "k, explode(split(x, ',')) as x"},
    ],
)
@pytest.mark.parametrize("running", [top(), {"name": "top", "dedup": {"by": ["k"], "keep": "last"}}])
def test_who_would_keep_what_is_replaced_is_refused(running, reader):
    assert [code for _, code, _ in problems(running, reader)] == ["ChangesUnsupported"]


@pytest.mark.parametrize(
    ("by", "part"),
    [(["k", "x"], "there is one row of each already; leave `again` out"), (["x"], "in a `topN` with `n: 1`")],
)
def test_there_is_a_repair_for_the_different_rows_of_running_results(by, part):
    newest = {"name": "newest", "dedup": {"by": ["k", "x"], "keep": "last"}}
    again = {"name": "again", "dedup": {"by": by}}
    regrouped = {"name": "regrouped", "partitionBy": {"key": by[-1]}}
    (found,) = [one for one in problems(newest, regrouped, again) if one[1] == "ChangesUnsupported"]
    assert found[0] == "spec.operators[2].dedup"
    assert part in found[2]


@pytest.mark.parametrize(
    ("options", "changes", "deletes"),
    [
        ({"by": ["k"], "n": 1}, "upsert(k)", False),
        ({"by": ["k"], "n": 1, "rank": "place"}, "upsert(k, place)", False),
        ({"by": ["k"], "n": 2, "rank": "place"}, "upsert(k, place)", False),
        ({"by": ["k"], "n": 2}, "upsert(k, v)", True),
        ({"by": ["k", "x"], "n": 2, "rank": "place"}, "upsert(k, x, place)", True),
    ],
)
def test_the_first_of_running_results_are_told_apart_by_their_place_or_their_own_key(options, changes, deletes):
    newest = {"name": "newest", "dedup": {"by": ["k", "v"], "keep": "last"}}
    spec = app(newest, {"name": "best", "topN": {"orderBy": "x", **options}})
    spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
    spec["spec"]["streams"]["out"] = {"system": "files", "format": "json"}
    type_ = accepted(spec).operators["best"].type
    assert (str(type_.changes), type_.deletes) == (changes, deletes)


@pytest.mark.parametrize(
    ("reader", "deletes"),
    [
        ({"map": "k as key, v"}, False),
        ({"filter": "k > 'a'"}, False),
        ({"filter": "v > 1"}, True),
        ({"partitionBy": {"key": "k"}}, False),
        ({"partitionBy": {"key": "x"}}, True),
        ({"aggregate": {"by": ["k"], "select": "count(*) as n"}}, True),
    ],
)
def test_who_follows_the_replacement_may_delete_keys(reader, deletes):
    spec = app(top(), {"name": "next", **reader})
    out = {"system": "log", "key": "key" if "map" in reader else "k"}
    if "partitionBy" in reader and deletes:
        spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
        out = {"system": "files", "format": "json"}
    spec["spec"]["streams"]["out"] = out
    assert accepted(spec).operators["next"].type.deletes is deletes


@pytest.mark.parametrize(
    ("reader", "part"),
    [
        ({"broadcast": {}}, "would not be told"),
        ({"process": {"function": "m:f", "schema": "k string"}}, "would not be told"),
        ({"sendTo": "out"}, "set spec.streams.out.key to `k`"),
        ({"partitionBy": {"key": "x", "stream": "shared"}}, "would not be told when its `x` has changed"),
    ],
)
def test_deletions_go_only_where_they_are_understood(reader, part):
    spec = app(top(), {"name": "kept", "filter": "v > 1"}, {"name": "next", **reader})
    spec["spec"]["operators"] = spec["spec"]["operators"][:3]
    del spec["spec"]["streams"]["out"]
    if "sendTo" in reader:
        spec["spec"]["streams"]["out"] = {"system": "log"}
    (problem,) = [one for one in planned(spec).problems if one.code == "ChangesUnsupported"]
    assert part in problem.message


def test_the_state_of_an_aggregate_is_another_one_if_its_rows_replace_each_other():
    total = {"name": "total", "aggregate": {"by": ["k"], "select": "count(*) as n"}}
    newest = {"name": "newest", "dedup": {"by": ["k"], "keep": "last"}}
    moved = {"name": "moved", "partitionBy": {"key": "x"}}
    plain, retracting = stores(total), stores(newest, total)
    assert plain["total"] != retracting["total"]
    one = stores(newest, moved, {"name": "by-x", "aggregate": {"by": ["x"], "select": "count(*) as n"}}, key="x")
    newest["dedup"]["by"] = ["k", "v"]
    two = stores(newest, moved, {"name": "by-x", "aggregate": {"by": ["x"], "select": "count(*) as n"}}, key="x")
    assert one["moved"] != two["moved"]


def stores(*operators, key="k"):
    """The shapes of the stores of operators, the last of which is sent by a key."""
    spec = app(*operators)
    spec["spec"]["streams"]["out"]["key"] = key
    return accepted(spec).stores


LEFT = {"name": "left", "from": "a", "dedup": {"by": ["k", "x"], "keep": "last"}}
OF_KEY = {"name": "right", "from": "b", "dedup": {"by": ["k"], "keep": "last"}}
OF_MORE = {"name": "right", "from": "b", "dedup": {"by": ["k", "w"], "keep": "last"}}
MET = {"name": "met", "from": "left", "join": {"with": "right", "on": "k"}}


def joined(*operators):
    """Plan a join whose pairs are sent to files."""
    spec = app(*operators)
    spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
    spec["spec"]["streams"]["out"] = {"system": "files", "format": "json"}
    return spec


@pytest.mark.parametrize(
    ("left", "right", "changes", "deletes"),
    [
        ([LEFT], [OF_KEY], "upsert(k, x)", False),
        ([LEFT], [OF_MORE], "upsert(k, x, w)", False),
        ([{**LEFT, "dedup": {"by": ["k"], "keep": "last"}}], [OF_MORE], "upsert(k, w)", False),
        ([{**LEFT, "name": "all"}, {"name": "left", "from": "all", "filter": "v > 1"}], [OF_KEY], "upsert(k, x)", True),
    ],
)
def test_pairs_of_running_results_are_told_apart_by_both_keys(left, right, changes, deletes):
    type_ = accepted(joined(*left, *right, MET)).operators["met"].type
    assert (str(type_.changes), type_.deletes, type_.changed_by) == (changes, deletes, "met")


@pytest.mark.parametrize(
    ("operators", "path", "part"),
    [
        ([LEFT, {**MET, "join": {"with": "b", "on": "k"}}], "from", "give them one by a `dedup` with `keep: last`"),
        (
            [LEFT, OF_KEY, {**MET, "join": {"with": "right", "on": "k", "within": "1h"}}],
            "join.within",
            "leave `within`",
        ),
        ([LEFT, OF_KEY, {**MET, "join": {"with": "right", "on": "k", "ttl": "1h"}}], "join.ttl", "leave `ttl` out"),
    ],
)
def test_joins_that_do_not_follow_running_results_are_refused(operators, path, part):
    found = [one for one in planned(joined(*operators)).problems if one.code == "ChangesUnsupported"]
    assert found
    for problem in found:
        assert part in problem.message
        assert problem.path == f"spec.operators[{len(operators) - 1}].{path}" or problem.path.endswith("join.with")


def test_the_pairs_of_a_side_that_is_everywhere_keep_the_column_that_they_are_joined_by():
    """The row that is everywhere may change it: its old and its new pairs are then in different tasks."""
    total = {"name": "right", "from": "b", "aggregate": {"by": ["k"], "select": "max(w) as w"}}
    sent = {"name": "everywhere", "from": "right", "broadcast": {}}
    named = {"name": "named", "from": "everywhere", "map": "k as rk, cast(w as string) as x2"}
    met = {"name": "met", "from": "left", "join": {"with": "named", "on": {"left": "x", "right": "x2"}}}
    type_ = accepted(joined(LEFT, total, sent, named, met)).operators["met"].type
    assert (str(type_.changes), type_.deletes) == ("upsert(k, x, rk)", True)


def over(**fields):
    return {"name": "recent", "over": {"by": ["k"], "select": "avg(v) as mean", **fields}}


NEWEST = {"name": "newest", "dedup": {"by": ["k", "x"], "keep": "last"}}


def test_the_last_rows_of_events_are_events_and_those_of_running_results_replace_each_other():
    columns, changes, type_ = emitted(over(rows=3, range="1h"))
    assert columns.endswith(", mean double")
    assert (changes, type_) == ("append", "hashed(k)")
    assert emitted(NEWEST, over(rows=3, orderBy="v"))[1:] == ("upsert(k, x)", "hashed(k)")
    regrouped = {"name": "by-x", "partitionBy": {"key": "x"}}
    spec = app(top(), regrouped, over(by=["x"], rows=3, orderBy="v"))
    spec["spec"]["systems"]["files"] = {"file": {"path": "."}}
    spec["spec"]["streams"]["out"] = {"system": "files", "format": "json"}
    results = accepted(spec).operators["recent"].type
    assert (str(results.changes), results.deletes) == ("upsert(k, x)", True)


@pytest.mark.parametrize(
    ("operators", "path", "code", "part"),
    [
        ([over()], "spec.operators[0].over", "InvalidSpec", "`over` needs `rows`"),
        ([over(range="forever")], "spec.operators[0].over", "InvalidSpec", "`over` needs `rows`"),
        ([over(rows=3, range="1h", orderBy="v")], "spec.operators[0].over", "InvalidSpec", "goes with `rows` alone"),
        ([over(range="1h", orderBy="v")], "spec.operators[0].over", "InvalidSpec", "goes with `rows` alone"),
        ([over(rows=1001)], "spec.operators[0].over.rows", "InvalidSpec", "1000"),
        ([over(rows=3, orderBy="v")], "spec.operators[0].over.orderBy", "InvalidSpec", "leave `orderBy` out"),
        ([NEWEST, over(rows=3)], "spec.operators[1].over", "ChangesUnsupported", "say in `orderBy`"),
        ([over(rows=3, by=["x"])], "spec.operators[0].over.by", "GroupKeyMismatch", "`recent` groups by `x`"),
        ([over(rows=3, by=["m", "k"])], "spec.operators[0].over.select", "TypeMismatch", "`m` in by is map"),
        ([over(rows=3, select="v")], "spec.operators[0].over.select", "InvalidExpression", "`v`"),
        ([over(rows=3, select="sum(v) as V")], "spec.operators[0].over.select", "TypeMismatch", "would be named `V`"),
        ([NEWEST, over(rows=3, orderBy="s")], "spec.operators[1].over.orderBy", "TypeMismatch", "which has no order"),
    ],
)
def test_last_rows_that_can_not_be_right_are_refused_at_their_place(operators, path, code, part):
    found = problems(*operators)
    assert {(place, name) for place, name, _ in found} == {(path, code)}, found
    assert part in found[0][2]


@pytest.mark.parametrize(
    ("changed", "same"),
    [({"select": "max(v) as mean"}, True), ({"select": "max(x) as mean"}, False), ({"rows": 4}, False)],
)
def test_the_select_list_of_last_rows_may_change_within_the_columns_that_are_kept(changed, same):
    shapes = [accepted(app(over(**{"rows": 3, **fields}))).stores["recent"] for fields in ({}, changed)]
    assert (shapes[0] == shapes[1]) == same


def as_of(**fields):
    """A join of `a` with versions from `b`, whose key has another name."""
    right = {"name": "versions", "from": "b", "map": "k as rk, w"}
    join = {"with": "versions", "on": {"left": "k", "right": "rk"}, "asOf": True, **fields}
    return [right, {"name": "valid", "from": "a", "join": join}, {"name": "sent", "from": "valid", "sendTo": "out"}]


@pytest.mark.parametrize("fields", [{}, {"type": "left"}, {"type": "left", "within": "1d"}])
def test_rows_with_the_version_of_their_time_are_events_and_keep_no_rows_for_ever(fields):
    plan = accepted(document(as_of(**fields), streams=STREAMS))
    type_ = plan.operators["valid"].type
    assert (str(type_.changes), str(type_)) == ("append", "hashed(k)")
    assert plan.operators["valid"].schema.names[-1] == "w"
    assert plan.warnings == ()


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"type": "full"}, "a full join is for pairs"),
        ({"within": {"before": "1h"}}, "`within` is one length of time"),
        ({"ttl": "1h"}, "there is no `ttl`"),
    ],
)
def test_versions_are_not_pairs(fields, part):
    (problem,) = planned(document(as_of(**fields), streams=STREAMS)).problems
    assert (problem.path, str(problem.code)) == ("spec.operators[1].join", "InvalidSpec")
    assert part in problem.message


def test_versions_need_event_times_and_are_no_running_results():
    newest = {"name": "newest", "from": "b", "dedup": {"by": ["k"], "keep": "last"}}
    operators = as_of()
    operators[0]["from"] = "newest"
    (problem,) = planned(document([newest, *operators], streams=STREAMS)).problems
    assert (problem.path, str(problem.code)) == ("spec.operators[2].join.asOf", "ChangesUnsupported")
    spec = document(as_of(), streams=STREAMS, systems={"files": {"file": {"path": "."}}, "log": {"log": {"path": "l"}}})
    for name in ("a", "b"):
        spec["spec"]["streams"][name] |= {"system": "files", "key": "k", "partitioned": True}
    codes = {(problem.path, str(problem.code)) for problem in planned(spec, {"a": 4, "b": 4}).problems}
    assert ("spec.operators[1].join.asOf", "EventTimeMissing") in codes
