"""The types of streams: what each operator makes of them, what it needs, and repairs that are accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.plan.stream_types.stream_type import APPEND, Upsert
from support.plan_documents import accepted, document, found, planned, repaired

ROWS = "k string, g string, v int, at timestamp"
STREAMS = {"a": ROWS, "b": "k string, w int", "out": {}}
COUNT = {"by": ["k"], "select": "count(*) as n"}
JOIN = {"with": "b", "on": "k", "within": "1h"}


def app(*operators, streams=STREAMS, **fields):
    """An app of operators, the last of which is sent to `out`."""
    sent = {"name": "o", "from": operators[-1]["name"], "sendTo": "out"}
    used = {name: stream for name, stream in streams.items() if f"'{name}'" in str([operators, sent, fields])}
    return document([*operators, sent], streams=used, **fields)


def broadcast(schema):
    return {"schema": schema, "broadcast": True}


def assert_repaired(spec, counts, code, path):
    problems = [problem for problem in planned(spec, counts).problems if problem.code == code]
    assert [problem.path for problem in problems] == [path]
    assert problems[0].repair is not None
    accepted(repaired(spec, problems[0].repair), counts)


@pytest.mark.parametrize(
    "operator, partitioning, changes",
    [
        ({"filter": "v > 0"}, "hashed(k)", "append"),
        ({"map": "k as x, g"}, "hashed(x)", "append"),
        ({"map": "upper(k) as k, g"}, "by source", "append"),
        ({"partitionBy": {"key": "g"}}, "hashed(g)", "append"),
        ({"broadcast": {}}, "everywhere", "append"),
        ({"aggregate": COUNT}, "hashed(k)", "upsert(k)"),
        ({"window": {"tumbling": "1h", **COUNT}}, "hashed(k)", "append"),
        ({"process": {"function": "m:f", "schema": "k string"}}, "by source", "append"),
    ],
)
def test_each_operator_makes_a_type_of_a_type(operator, partitioning, changes):
    type_ = accepted(app({"name": "s", "from": "a", **operator})).operators["s"].type
    assert (str(type_), str(type_.changes)) == (partitioning, changes)


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        (["1 as one, g, v"], "upsert(rank)"),
        (["1 as x, g, v", "x as one, g, v"], "upsert(rank)"),
        (["v as one, g"], "upsert(one, rank)"),
        (["1 as g, v as one"], "upsert(one, rank)"),
    ],
)
def test_a_column_with_one_value_in_all_rows_tells_no_places_apart(steps, changes):
    maps = [{"name": f"m{at}", "from": f"m{at - 1}" if at else "a", "map": text} for at, text in enumerate(steps)]
    by = {"name": "by", "from": maps[-1]["name"], "partitionBy": {"key": "one"}}
    top = {"name": "t", "from": "by", "topN": {"by": ["one"], "orderBy": "g", "n": 3, "rank": "rank"}}
    made = accepted(app(*maps, by, top)).operators
    assert str(made["t"].type.changes) == changes


@pytest.mark.parametrize(
    "between",
    [
        {"from": ["m", "n"], "merge": {}},
        {"from": "m", "flatMap": "explode(array(1, 2)) as one, g"},
        {"from": "m", "window": {"tumbling": "1h", "by": ["g"], "select": "count(*) as one"}},
    ],
)
def test_what_was_one_value_may_be_several_behind_some_operators(between):
    made = accepted(
        app(
            {"name": "keyed", "from": "a", "partitionBy": {"key": "g"}},
            {"name": "m", "from": "keyed", "map": "1 as one, g"},
            {"name": "n", "from": "keyed", "map": "2 as one, g"},
            {"name": "x", **between},
            {"name": "by", "from": "x", "partitionBy": {"key": "one"}},
            {"name": "rest", "from": "n", "sendTo": "out"},
            {"name": "t", "from": "by", "topN": {"by": ["one"], "orderBy": "g", "n": 3, "rank": "rank"}},
        )
    )
    assert str(made.operators["t"].type.changes) == "upsert(one, rank)"


@pytest.mark.parametrize("kind", ["aggregate", "window", "process"])
def test_streams_that_are_split_differently_do_not_meet_in_a_group(kind):
    group = {
        "aggregate": COUNT,
        "window": {"tumbling": "1h", **COUNT},
        "process": {"function": "m:f", "schema": "k string", "state": {"key": "k"}},
    }[kind]
    spec = app(
        {"name": "m", "from": ["a", "c"], "merge": {}},
        {"name": "g", "from": "m", kind: group},
        streams={**STREAMS, "c": ROWS},
    )
    accepted(spec, {"a": 4, "c": 4})
    assert_repaired(spec, {"a": 4, "c": 8}, "GroupPartitionMismatch", "spec.operators[1].from")


def test_a_merge_of_two_shuffles_gives_them_one_count_also_where_one_is_joined():
    spec = app(
        {"name": "x", "from": "a", "partitionBy": {"key": "k"}},
        {"name": "y", "from": "a", "partitionBy": {"key": "k"}},
        {"name": "j", "from": "y", "join": JOIN},
        {"name": "rest", "from": "j", "map": "k, g, v, at"},
        {"name": "m", "from": ["x", "rest"], "merge": {}},
        {"name": "g", "from": "m", "aggregate": COUNT},
    )
    streams = accepted(spec, {"a": 8, "b": 3}).streams
    assert (streams["x"].partitions, streams["y"].partitions) == (3, 3)


@pytest.mark.parametrize(
    "operators, streams",
    [
        ([{"name": "j", "from": "a", "join": JOIN}], {}),
        ([{"name": "j", "from": "a", "joinTable": {"table": "t", "on": "k"}}], {"tables": {"t": ["b"]}}),
        ([{"name": "m", "from": ["a", "c"], "merge": {}}, {"name": "g", "from": "m", "aggregate": COUNT}], {}),
    ],
)
def test_nothing_meets_under_stream_partition(operators, streams):
    tables = {name: {"key": "k", "sideInputs": side} for name, side in streams.get("tables", {}).items()}
    spec = app(*operators, streams={**STREAMS, "c": ROWS}, tables=tables, job={"grouper": "stream-partition"})
    assert_repaired(spec, {}, "GrouperUnsupported", "spec.job.grouper")


def test_one_stream_alone_may_be_grouped_under_stream_partition():
    accepted(app({"name": "g", "from": "a", "aggregate": COUNT}, job={"grouper": "stream-partition"}), {"a": 8})


@pytest.mark.parametrize("kind, refused", [("inner", False), ("left", False), ("right", True), ("full", True)])
def test_an_outer_join_does_not_preserve_a_broadcast_side(kind, refused):
    spec = app(
        {"name": "j", "from": "a", "join": {**JOIN, "type": kind}}, streams={**STREAMS, "b": broadcast(STREAMS["b"])}
    )
    if refused:
        assert_repaired(spec, {"a": 4, "b": 2}, "MultiplicityMismatch", "spec.operators[0].join.type")
    else:
        accepted(spec, {"a": 4, "b": 2})


@pytest.mark.parametrize("kind, refused", [("inner", False), ("left", True)])
def test_a_left_join_of_a_broadcast_stream_with_a_table_in_parts_is_refused(kind, refused):
    join = {"table": "t", "on": "k", "type": kind}
    spec = app(
        {"name": "j", "from": "a", "joinTable": join},
        streams={**STREAMS, "a": broadcast(ROWS)},
        tables={"t": {"key": "k", "sideInputs": ["b"]}},
    )
    if refused:
        assert_repaired(spec, {"a": 1, "b": 2}, "MultiplicityMismatch", "spec.operators[0].joinTable.type")
    else:
        accepted(spec, {"a": 1, "b": 2})


EVERYWHERE = {"a": ROWS, "c": ROWS, "b": broadcast("y string, w int"), "out": {}}
TABLE = {"tables": {"t": {"key": "y", "sideInputs": ["b"]}}}
MEETINGS = [
    ({"join": {"with": "b", "on": {"left": "g", "right": "y"}, "type": "left", "within": "1h"}}, {}),
    ({"joinTable": {"table": "t", "on": "g", "type": "left"}}, TABLE),
]


@pytest.mark.parametrize("grouper", ["partition", "stream-partition"])
@pytest.mark.parametrize("join, tables", MEETINGS)
def test_next_to_a_side_that_is_everywhere_no_key_and_no_count_is_needed(join, tables, grouper):
    operators = [{"name": "both", "from": ["a", "c"], "merge": {}}, {"name": "j", "from": "both", **join}]
    spec = app(*operators, streams=EVERYWHERE, **tables, job={"grouper": grouper})
    type_ = accepted(spec, {"a": 3, "b": 1, "c": 4}).operators["j"].type
    assert str(type_) == "hashed(k)"


@pytest.mark.parametrize("by, refused", [("k", False), ("g", True)])
@pytest.mark.parametrize("sides", [("a", "b"), ("b", "a")])
def test_rows_joined_with_a_side_that_is_everywhere_stay_where_they_are(sides, by, refused):
    left, right = sides
    on = {"left": {"a": "g", "b": "y"}[left], "right": {"a": "g", "b": "y"}[right]}
    column = on["left"] if by == "g" else by  # a join names its key as the left side does
    operators = [
        {"name": "j", "from": left, "join": {"with": right, "on": on, "within": "1h"}},
        {"name": "n", "from": "j", "aggregate": {"by": [column], "select": "count(*) as n"}},
    ]
    problems = found(app(*operators, streams=EVERYWHERE), {"a": 3, "b": 1})
    assert problems == ({("GroupKeyMismatch", "spec.operators[1].aggregate.by")} if refused else set())


def test_rows_of_every_task_and_rows_of_one_are_not_merged():
    spec = app({"name": "m", "from": ["a", "c"], "merge": {}}, streams={**STREAMS, "c": broadcast(ROWS)})
    assert_repaired(spec, {"a": 2, "c": 2}, "MultiplicityMismatch", "spec.operators[0].from[1]")


FILES = {
    "systems": {"log": {"log": {"path": "x.db"}}, "files": {"file": {"path": "."}}},
    "defaultSystem": "log",
}
RUNNING = {"name": "r", "from": "a", "aggregate": {"by": ["k"], "select": "count(*) as n, max(g) as g"}}


@pytest.mark.parametrize(
    "operator",
    [
        {"aggregate": {"by": ["k"], "select": "sum(n) as n"}},
        {"window": {"tumbling": "1h", "by": ["k"], "select": "sum(n) as n"}},
        {"join": JOIN},
        {"merge": {}},
        {"flatMap": "k, explode(split(g, ' ')) as g"},
        {"filter": "n > 3"},
        {"map": "n, g"},
        {"partitionBy": {"key": "g"}},
        {"joinTable": {"table": "t", "on": "g"}},
    ],
)
def test_running_results_are_not_taken_for_events(operator):
    tables = {"t": {"key": "k", "sideInputs": ["b"]}} if "joinTable" in operator else {}
    streams = {**STREAMS, "b": broadcast(STREAMS["b"])} if tables else STREAMS
    spec = app(RUNNING, {"name": "s", "from": "r", **operator}, streams=streams, tables=tables)
    assert "ChangesUnsupported" in {code for code, _ in found(spec)}


@pytest.mark.parametrize(
    "operator",
    [
        {"filter": "k <> 'x'"},
        {"map": "n + 1 as n, k as key"},
        {"partitionBy": {"key": "k"}},
        {"broadcast": {}},
        {"joinTable": {"table": "t", "on": "g", "type": "left"}},
        {"process": {"function": "m:f", "schema": "k string"}},
    ],
)
def test_running_results_may_be_followed_by_what_follows_them(operator):
    tables = {"t": {"key": "k", "sideInputs": ["b"]}} if "joinTable" in operator else {}
    streams = {**STREAMS, "b": broadcast(STREAMS["b"])} if tables else STREAMS
    accepted(app(RUNNING, {"name": "s", "from": "r", **operator}, streams=streams, tables=tables))


@pytest.mark.parametrize(
    "columns, by, changes",
    [
        ("k, n, g", "k", "upsert(k)"),
        ("k, n, g", "g", "upsert(k, g)"),
        ("k, n, upper(k) as g", "g", "upsert(k)"),
        ("k, n, concat(k, g) as g", "g", "upsert(k, g)"),
        ("k, n, '1' as g", "g", "upsert(k)"),
    ],
)
def test_a_row_that_may_go_elsewhere_is_deleted_there_as_the_row_of_another_key(columns, by, changes):
    """Otherwise its deletion might come behind its newer value, where both meet again."""
    again = [
        {"name": "m", "from": "r", "map": columns},
        {"name": "there", "from": "m", "partitionBy": {"key": by}},
        {"name": "back", "from": "there", "partitionBy": {"key": "k"}},
    ]
    spec = app(RUNNING, *again, streams={**STREAMS, "out": {"system": "files", "format": "csv"}}, **FILES)
    types = accepted(spec).operators
    assert [str(types[name].type.changes) for name in ("there", "back")] == [changes, changes]
    assert types["back"].type.deletes is (changes != "upsert(k)")


@pytest.mark.parametrize("kept", [True, False])
def test_who_forgets_where_a_row_was_is_refused(kept):
    regrouped = {"name": "there", "from": "r", "partitionBy": {"key": "g"}}
    mapped = {"name": "m", "from": "there", "map": "k, n, g" if kept else "k, n"}
    spec = app(RUNNING, regrouped, mapped, streams={**STREAMS, "out": {"system": "files", "format": "csv"}}, **FILES)
    assert found(spec) == (set() if kept else {("ChangesUnsupported", "spec.operators[2].map")})


def test_an_output_of_running_results_has_their_key():
    spec = app(RUNNING, streams={**STREAMS, "out": {"key": "g"}})
    assert found(spec) == {("ChangesUnsupported", "spec.operators[1].from")}
    accepted(app(RUNNING, streams={**STREAMS, "out": {"key": "k"}}))


@pytest.mark.parametrize(
    "columns, folders, refused",
    [("k, n, g", ["K"], False), ("k, n, g", ["k", "g"], True), ("k, n, upper(k) as g", ["g"], False)],
)
def test_folders_of_running_results_hold_all_those_of_a_key(columns, folders, refused):
    """Files of different folders have no order; and a deletion has only what follows from the key."""
    out = {"system": "files", "format": "csv", "folderColumns": folders}
    mapped = {"name": "m", "from": "r", "map": columns}
    spec = app(RUNNING, mapped, streams={**STREAMS, "out": out}, **FILES)
    assert found(spec) == ({("ChangesUnsupported", "spec.streams.out.folderColumns")} if refused else set())


@pytest.mark.parametrize(
    "files, partitioned, refused", [(1, False, False), (3, False, True), (3, True, False), (1, True, False)]
)
def test_the_key_of_files_says_nothing_about_which_file_a_row_is_in(files, partitioned, refused):
    stream = {"system": "files", "format": "csv", "schema": ROWS, "key": "k", "partitioned": partitioned}
    spec = app(
        {"name": "g", "from": "a", "aggregate": COUNT},
        streams={"a": stream, "out": {}},
        systems={"log": {"log": {"path": "x.db"}}, "files": {"file": {"path": "."}}},
        defaultSystem="log",
    )
    if refused:
        assert_repaired(spec, {"a": files}, "GroupKeyMismatch", "spec.operators[0].aggregate.by")
        assert "partitioned: true" in planned(spec, {"a": files}).problems[0].message
    else:
        accepted(spec, {"a": files})


@pytest.mark.parametrize("other", ["files", "log"])
def test_files_of_their_own_order_are_not_joined_as_they_are(other):
    """All rows of a key may be in one file, and still in files with other numbers on both sides."""
    files = {"system": "files", "format": "csv", "partitioned": True, "eventTime": {"column": "at"}}
    columns = "k string, w int, at timestamp"
    spec = app(
        {"name": "b", "from": "c", "map": "k, w"},
        {"name": "j", "from": "a", "join": JOIN},
        {"name": "r", "from": "j", "map": "k, v, w"},
        streams={
            "a": {**files, "schema": "k string, v int, at timestamp", "key": "k"},
            "c": {**(files if other == "files" else {}), "schema": columns, "key": "k"},
            "out": {},
        },
        systems={"log": {"log": {"path": "x.db"}}, "files": {"file": {"path": "."}}},
    )
    assert_repaired(spec, {"a": 3, "c": 3}, "JoinKeyMismatch", "spec.operators[1].join.on")
    accepted(spec, {"a": 1, "c": 1})


@given(st.permutations(range(5)))
def test_the_order_of_the_operators_means_nothing_for_types(order):
    operators = [
        {"name": "x", "from": "a", "partitionBy": {"key": "g"}},
        {"name": "m", "from": ["a", "x"], "merge": {}},
        {"name": "f", "from": "m", "filter": "v > 0"},
        {"name": "e", "from": "f", "broadcast": {}},
        {"name": "o", "from": "e", "sendTo": "out"},
    ]
    plan = accepted(document([operators[n] for n in order], streams={"a": ROWS, "out": {}}))
    assert {name: str(operator.type) for name, operator in plan.operators.items()} == {
        "x": "hashed(g)",
        "m": "by source",
        "f": "by source",
        "e": "everywhere",
        "o": "everywhere",
    }


def test_rows_joined_with_a_table_that_rows_of_every_task_fill_stay_in_every_task():
    """What follows is in every task, too: a join, which each task would else write."""
    spec = app(
        {"name": "stored", "from": "b", "sendToTable": "t"},
        {"name": "sized", "from": "a", "joinTable": {"table": "t", "on": "k", "type": "left"}},
        {"name": "kept", "from": "sized", "map": "k, v"},
        {"name": "paired", "from": "kept", "join": JOIN},
        streams={**STREAMS, "a": broadcast(ROWS), "b": broadcast(STREAMS["b"])},
        tables={"t": {"key": "k", "value": "w as size", "schema": "k string, w int"}},
    )
    operators = accepted(spec).operators
    assert {str(operators[name].type) for name in ("sized", "kept", "paired", "o")} == {"everywhere"}
    assert all(operators[name].broadcast for name in ("sized", "kept", "paired", "o"))


def test_early_results_of_a_window_replace_each_other_until_it_closes():
    window = {"tumbling": "1h", **COUNT, "emit": {"every": "1s"}}
    operators = {"name": "w", "from": "a", "window": window}, {"name": "again", "from": "w", "aggregate": COUNT}
    spec = app(*operators, streams={**STREAMS, "out": {"key": "k"}})
    assert accepted(spec, {"a": 4}).operators["w"].type.changes == Upsert(("k", "window_start", "window_end"))
    spec["spec"]["operators"][1] = {"name": "again", "from": "w", "window": {"tumbling": "1d", **COUNT}}
    assert found(spec, {"a": 4}) == {("ChangesUnsupported", "spec.operators[1].from")}


def test_rows_are_sorted_by_event_times_that_they_have_and_running_results_are_not():
    spec = app({"name": "s", "from": "a", "sorted": {}})
    assert accepted(spec, {"a": 4}).operators["s"].type.changes is APPEND
    files = {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}}
    over = {"by": ["k"], "rows": 2, "select": "count(*) as m"}
    for kind, fields in {"sorted": {}, "over": over}.items():
        operators = [{"name": "s", "from": "a", kind: fields}, spec["spec"]["operators"][1]]
        streams = {"a": {"system": "files", "schema": ROWS, "key": "k", "partitioned": True}, "out": {}}
        undated = document(operators, streams=streams, systems=files)
        assert found(undated, {"a": 4}) == {("EventTimeMissing", f"spec.operators[0].{kind}")}
    spec = app({"name": "g", "from": "a", "aggregate": COUNT}, {"name": "s", "from": "g", "sorted": {}})
    assert found(spec, {"a": 4}) == {("ChangesUnsupported", "spec.operators[1].from")}


@pytest.mark.parametrize("changes", ["upsert", "debezium"])
def test_a_stream_of_changes_has_their_type_and_is_refused_where_running_results_are(changes):
    changed = {"schema": ROWS, "key": "k", "changes": changes}
    streams = {"a": changed, "out": {"key": "k"}}
    type_ = accepted(app({"name": "s", "from": "a", "filter": "v > 0"}, streams=streams)).operators["s"].type
    assert (str(type_), type_.changes) == ("hashed(k)", Upsert(("k",), deletes=True))
    window = app({"name": "s", "from": "a", "window": {"tumbling": "1h", **COUNT}}, streams=streams)
    assert ("ChangesUnsupported", "spec.operators[0].from") in found(window)
    (message,) = (one.message for one in planned(window).problems if one.code == "ChangesUnsupported")
    assert "changes of `a`" in message
    assert "use an `aggregate`" in message
    assert ("leave `changes` out of spec.streams.a" in message) == (changes == "upsert")


@pytest.mark.parametrize("changes", ["upsert", "debezium"])
def test_versions_that_are_changes_come_with_what_to_do_instead(changes):
    streams = {**STREAMS, "b": {"schema": "k string, w int, since timestamp", "key": "k", "changes": changes}}
    spec = app({"name": "s", "from": "a", "join": {"with": "b", "on": "k", "asOf": True}}, streams=streams)
    (problem,) = (one for one in planned(spec).problems if one.code == "ChangesUnsupported")
    assert "look up what is there now by a `joinTable`" in problem.message
    assert problem.message.endswith("leave `changes` out of spec.streams.b") == (changes == "upsert")
    if changes == "upsert":
        del spec["spec"]["streams"]["b"]["changes"]
        accepted(spec, {"a": 4, "b": 4})


@pytest.mark.parametrize("query", ["select distinct v from a", "select v from a group by v"])
def test_different_values_of_changes_come_with_the_query_that_counts_them(query):
    streams = {"a": {"schema": ROWS, "key": "k", "changes": "upsert"}, "out": {"key": "v"}}

    def asked(sql):
        operators = [{"name": "s", "sql": sql}, {"name": "o", "from": "s", "sendTo": "out"}]
        return document(operators, streams=streams)

    problems = [one for one in planned(asked(query)).problems if one.path == "spec.operators[0].sql"]
    assert any("by `count(*)` and `group by`" in one.message for one in problems)
    accepted(asked("select v, count(*) as n from a group by v"))


def test_keys_of_debezium_are_in_partitions_of_their_own():
    changed = {"schema": "k string, w int", "key": "k", "changes": "debezium"}
    upsert = {"schema": ROWS, "key": "k", "changes": "upsert"}
    joined = {"name": "j", "from": "a", "join": {"with": "b", "on": "k"}}
    spec = app(joined, streams={"a": upsert, "b": changed, "out": {"key": "k"}})
    assert_repaired(spec, {"a": 2, "b": 2}, "JoinKeyMismatch", "spec.operators[0].join.on")


@pytest.mark.parametrize(
    ("of_left", "of_right", "on", "type_"),
    [
        ("upsert(k)", "upsert(k)", "k", "upsert(k)"),
        ("upsert(k)", "upsert(k)", ["k", "x"], "upsert(k, x)"),
        ("upsert(k)", "upsert(x)", "k", "ChangesUnsupported"),
        ("append", "upsert(k)", "k", "ChangesUnsupported"),
        ("upsert(k)", "append", "k", "ChangesUnsupported"),
        ("append", "append", "k", "InvalidSpec"),
    ],
)
def test_a_left_join_without_a_bound_has_one_result_of_each_left_row(of_left, of_right, on, type_):
    columns = {"a": "k string, x int, v int", "b": "k string, x int, w int"}
    streams = {
        name: {"schema": columns[name], **({} if of == "append" else {"key": of[7], "changes": "upsert"})}
        for name, of in (("a", of_left), ("b", of_right))
    }
    parts = [{"name": f"{name}-by", "from": name, "partitionBy": {"key": on}} for name in ("a", "b")]
    renamed = "k, w" if on == "k" else "k, x, w"
    parts.insert(1, {"name": "c", "from": "b", "map": renamed if of_right != "upsert(x)" else "k, x as y, w"})
    parts[2]["from"] = "c"
    joined = {"name": "j", "from": "a-by", "join": {"with": "b-by", "on": on, "type": "left"}}
    out = {"system": "files", "name": "out"}
    spec = app(*parts, joined, streams={**streams, "out": out}, **FILES)
    if type_.startswith("upsert"):
        assert str(accepted(spec).operators["j"].type.changes) == type_
    else:
        assert [str(problem.code) for problem in planned(spec).problems] == [type_]


FILES = {"systems": {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}}, "defaultSystem": "log"}
FINAL = {"system": "files", "format": "json", "changes": "final"}


@pytest.mark.parametrize(
    ("source", "output", "said"),
    [
        ({"key": "k"}, FINAL, "`a` has none"),
        ({"bounded": True, "key": "k"}, {"changes": "final", "key": "k"}, "is no folder"),
        ({"bounded": True, "key": "k", "changes": "final"}, {"key": "k"}, "it reads `a`"),
    ],
)
def test_a_table_that_is_never_there_is_refused(source, output, said):
    counted = {"name": "s", "from": "a", "aggregate": COUNT}
    spec = app(counted, streams={"a": {"schema": ROWS, **source}, "out": output}, **FILES)
    name = "a" if "changes" in source else "out"
    (problem,) = planned(spec).problems
    assert (problem.code, problem.path) == ("NotSupported", f"spec.streams.{name}.changes")
    assert said in problem.message
    accepted(repaired(spec, problem.repair))


def test_events_are_no_table_and_two_results_are_not_one():
    source = {"schema": ROWS, "key": "k", "bounded": True}
    events = app({"name": "s", "from": "a", "filter": "v > 0"}, streams={"a": source, "out": FINAL}, **FILES)
    assert ("NotSupported", "spec.streams.out.changes") in found(events)
    counted = {"name": "s", "from": "a", "aggregate": COUNT}
    both = app(counted, {"name": "again", "from": "s", "sendTo": "out"}, streams={"a": source, "out": FINAL}, **FILES)
    both["spec"]["operators"][-1]["from"] = "s"
    assert ("NotSupported", "spec.streams.out.changes") in found(both)
    alone = app(counted, streams={"a": source, "out": {**FINAL, "folderColumns": ["n"]}}, **FILES)
    accepted(alone)


def test_a_history_needs_no_key_and_takes_several():
    log = {"changes": "log"}
    steps = [{"name": "by", "from": "a", "partitionBy": {"key": "g"}}]
    changed = {"schema": ROWS, "key": "k", "changes": "upsert"}
    for key, right in ((None, True), ("k", True), ("g", True), ("v", False)):
        output = log if key is None else {**log, "key": key}
        spec = app(*steps, streams={"a": changed, "out": output})
        assert (planned(spec).problems == ()) is right
    events = app({"name": "s", "from": "a", "filter": "v > 0"}, streams={"a": ROWS, "out": log})
    assert_repaired(events, None, "NotSupported", "spec.streams.out.changes")
    avro = app(*steps, streams={"a": changed, "out": {**log, "format": "avro"}})
    assert ("NotSupported", "spec.streams.out.changes") in found(avro)


def test_changes_of_debezium_are_told_apart_by_all_columns_of_their_key():
    changed = {"schema": ROWS, "key": ["g", "k"], "changes": "debezium"}
    counted = {"name": "s", "from": "a", "aggregate": {"by": ["g", "k"], "select": "max(v) as most"}}
    plan = accepted(app(counted, streams={"a": changed, "out": {"key": ["g", "k"]}}))
    assert plan.streams["a"].type.changes == Upsert(("g", "k"), deletes=True)
