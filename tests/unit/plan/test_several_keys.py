"""Keys of several columns: what meets, what is refused, and the repairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.plan_documents import accepted, document, found, planned, repaired

COLUMNS = "a string, b int, c string, v int"
STREAM = {"schema": COLUMNS, "key": ["a", "b"]}
OUT = {"out": {}}
BY = {"key": ["a", "b"]}


def app(*operators, **streams):
    tables = streams.pop("tables", None)
    return document(list(operators), streams={"in": STREAM, **OUT, **streams}, tables=tables)


def sent(*operators, **streams):
    """A chain that begins at `in`."""
    names = ["in", *(operator["name"] for operator in operators)]
    chained = [{"from": before, **operator} for before, operator in zip(names, operators, strict=False)]
    return app(*chained, {"name": "o", "from": names[-1], "sendTo": "out"}, **streams)


def joined(left, right, on, columns="a string, b int, w int"):
    """A join of two streams, which are regrouped if a key is given."""
    steps = [
        {"name": name, "from": source, "partitionBy": {"key": key}}
        for name, source, key in (("l", "in", left), ("r", "other", right))
        if key is not None
    ]
    sides = ["in" if left is None else "l", "other" if right is None else "r"]
    join = {"name": "j", "from": sides[0], "join": {"with": sides[1], "on": on, "within": "1h"}}
    other = {"schema": columns, "key": ["a", "b"]}
    return app(*steps, join, {"name": "o", "from": "j", "sendTo": "out"}, other=other)


def test_rows_are_partitioned_by_all_columns_in_their_order():
    plan = accepted(sent({"name": "by", "partitionBy": {"key": ["b", "a"]}}))
    assert str(plan.operators["by"].type) == "hashed(b, a)"
    assert plan.operators["by"].type.document()["keyFields"] == ["b", "a"]
    assert plan.streams["by"].key == ("b", "a")
    assert plan.partition_keys == {"by": ("b", "a")}


def test_a_list_of_one_is_that_column():
    one, other = (accepted(sent({"name": "by", "partitionBy": {"key": key}})) for key in ("a", ["a"]))
    assert one.partition_keys == other.partition_keys == {"by": "a"}
    assert one.topology_hash == other.topology_hash


@pytest.mark.parametrize("by", [["a", "b"], ["b", "c", "a"]])
@pytest.mark.parametrize("kind", ["aggregate", "window", "topN", "dedup"])
def test_a_group_has_all_columns_of_the_key(kind, by):
    fields = {
        "aggregate": {"select": "count(*) as n"},
        "window": {"tumbling": "1h", "select": "count(*) as n"},
        "topN": {"orderBy": "v", "n": 1},
        "dedup": {},
    }
    accepted(sent({"name": "g", kind: {"by": by, **fields[kind]}}))


def test_a_group_by_a_part_of_the_key_is_in_several_tasks():
    wrong = sent({"name": "g", "aggregate": {"by": ["a"], "select": "count(*) as n"}})
    (problem,) = planned(wrong).problems
    assert (problem.code, problem.path) == ("GroupKeyMismatch", "spec.operators[0].aggregate.by")
    assert "partitioned by `a`, `b`" in problem.message
    accepted(repaired(wrong, problem.repair))


@pytest.mark.parametrize(
    ("left", "right", "on"),
    [
        (None, None, ["a", "b"]),
        (None, ["a", "b"], ["a", "b"]),
        (None, None, ["b", "a"]),
        ("a", "a", ["a", "b"]),
        ("b", "b", {"left": ["a", "b"], "right": ["a", "b"]}),
        (["b", "a"], ["b", "a"], ["a", "b"]),
    ],
)
def test_sides_that_are_split_alike_can_be_joined(left, right, on):
    plan = accepted(joined(left, right, on))
    assert plan.operators["j"].schema.names == ("a", "b", "c", "v", "w")


@pytest.mark.parametrize(
    ("left", "right", "on"),
    [
        (None, ["b", "a"], ["a", "b"]),
        ("a", "b", ["a", "b"]),
        (None, "a", ["a", "b"]),
        (["a", "c"], None, ["a", "b"]),
    ],
)
def test_sides_that_are_split_differently_are_regrouped_by_the_repair(left, right, on):
    wrong = joined(left, right, on)
    (problem,) = planned(wrong).problems
    assert problem.code == "JoinKeyMismatch"
    accepted(repaired(wrong, problem.repair))


def test_columns_of_other_names_are_hashed_with_them_so_both_sides_get_the_same():
    on = {"left": ["a", "b"], "right": ["x", "y"]}
    wrong = joined(["a", "b"], ["x", "y"], on, columns="x string, y int, w int")
    wrong["spec"]["streams"]["other"]["key"] = "x"
    (problem,) = planned(wrong).problems
    assert problem.code == "JoinKeyMismatch"
    assert "JSON objects of `x`, `y`" in problem.message
    assert "same names by a map" in problem.message
    renamed = {"name": "n", "from": "other", "map": "x as a, y as b, w"}
    steps = [renamed, *wrong["spec"]["operators"]]
    steps[2] = {"name": "r", "from": "n", "partitionBy": BY}
    steps[3]["join"]["on"] = ["a", "b"]
    wrong["spec"]["operators"] = steps
    accepted(wrong)


def test_an_input_whose_fields_have_other_names_is_hashed_with_these():
    wrong = joined(None, None, ["a", "b"])
    wrong["spec"]["streams"]["other"]["json"] = {"fields": {"b": "number"}}
    (problem,) = planned(wrong).problems
    assert "JSON objects of `a`, `number`" in problem.message
    accepted(repaired(wrong, problem.repair))


@given(st.lists(st.sampled_from(["a", "a as k", "b", "b as n", "c", "v + 1 as v"]), min_size=1, unique=True))
def test_a_map_keeps_the_key_under_all_names_of_its_parts(items):
    plan = accepted(sent({"name": "m", "map": ", ".join(items)}))
    names = {item.partition(" as ")[0]: [] for item in items}
    for item in items:
        source, _, name = item.partition(" as ")
        names[source].append(name or source)
    parts = [names.get("a"), names.get("b")]
    assert plan.operators["m"].key == (tuple(map(min, parts)) if all(parts) else ())


def test_results_are_written_under_their_whole_key_or_deletions_have_none():
    steps = (
        {"name": "once", "dedup": {"by": ["a", "b"], "keep": "last", "ttl": "forever"}},
        {"name": "some", "filter": "v > 0"},
    )
    accepted(sent(*steps, out={"key": ["b", "a"]}))
    wrong = sent(*steps, out={"key": "a"})
    (problem,) = planned(wrong).problems
    assert problem.code == "ChangesUnsupported"
    assert "set spec.streams.out.key to `[a, b]`" in problem.message


def test_a_partition_by_columns_that_may_change_makes_them_parts_of_the_key():
    plan = accepted(
        sent(
            {"name": "once", "dedup": {"by": ["a", "b"], "keep": "last", "ttl": "forever"}},
            {"name": "by", "partitionBy": {"key": ["b", "c", "v"]}},
            out={"key": ["a", "b", "c", "v"]},
        )
    )
    assert str(plan.operators["by"].type.changes) == "upsert(a, b, c, v)"
    assert plan.operators["by"].type.deletes


def test_of_a_join_of_results_one_side_is_told_apart_by_the_other():
    """Neither side's own part of the key may be left out because of the other's: then pairs would share one key."""
    other = {"schema": "a string, b int, y int, w int", "key": ["a", "b"]}
    plan = accepted(
        app(
            {"name": "l", "from": "in", "dedup": {"by": ["a", "b", "c"], "keep": "last", "ttl": "forever"}},
            {"name": "r", "from": "other", "dedup": {"by": ["a", "b", "y"], "keep": "last", "ttl": "forever"}},
            {"name": "j", "from": "l", "join": {"with": "r", "on": ["a", "b"]}},
            {"name": "o", "from": "j", "sendTo": "out"},
            other=other,
            out={"key": ["a", "b", "c", "y"]},
        )
    )
    assert str(plan.operators["j"].type.changes) == "upsert(a, b, c, y)"


TABLE = {"key": ["a", "b"], "value": "w", "sideInputs": ["side"]}
SIDE = {"schema": "a string, b int, w int", "key": ["a", "b"], "bounded": True}


def looked_up(on, table=TABLE, side=SIDE):
    return sent({"name": "j", "joinTable": {"table": "t", "on": on}}, tables={"t": table}, side=side)


def test_a_table_of_two_columns_is_looked_up_by_two():
    plan = accepted(looked_up(["a", "b"]))
    assert [str(type_) for type_ in plan.tables["t"].key_types] == ["string", "int"]
    assert plan.operators["j"].schema.names == ("a", "b", "c", "v", "w")


def test_a_table_whose_key_has_other_names_is_broadcast_by_the_repair():
    side = {"schema": "x string, y int, w int", "key": ["x", "y"], "bounded": True}
    wrong = looked_up(["a", "b"], {**TABLE, "key": ["x", "y"]}, side)
    (problem,) = planned(wrong).problems
    assert problem.code == "JoinKeyMismatch"
    assert problem.repair.text == "make side input `side` a broadcast stream, of which every task has all"
    accepted(repaired(wrong, problem.repair))


@pytest.mark.parametrize(
    ("app", "code", "place"),
    [
        (looked_up("a"), "TypeMismatch", "spec.operators[0].joinTable.on"),
        (looked_up(["a", "b", "c"]), "TypeMismatch", "spec.operators[0].joinTable.on"),
        (looked_up(["a", "c"]), "TypeMismatch", "spec.operators[0].joinTable.on"),
        (looked_up(["a", "x"]), "UnknownColumn", "spec.operators[0].joinTable.on"),
        (looked_up(["a", "b"], {**TABLE, "key": ["a", "b, w"]}), "InvalidExpression", "spec.tables.t.key[1]"),
        (looked_up(["a", "b"], {**TABLE, "key": ["a", "x"]}), "UnknownColumn", "spec.tables.t.key[1]"),
        (looked_up(["a", "b"], {**TABLE, "key": ["a", "array(b)"]}), "NotSupported", "spec.tables.t.key"),
        (looked_up(["a", "b"], side={**SIDE, "keyFormat": "int"}), "NotSupported", "spec.streams.side.keyFormat"),
        (sent({"name": "p", "partitionBy": {"key": ["a", "x"]}}), "UnknownColumn", "spec.operators[0].partitionBy.key"),
        (sent({"name": "p", "partitionBy": {"key": ["a", "A"]}}), "InvalidSpec", "spec.operators[0].partitionBy.key"),
        (joined(None, None, {"left": ["a", "b"], "right": ["a"]}), "InvalidSpec", "spec.operators[0].join.on"),
        (joined(None, None, {"left": ["a", "b"], "right": ["b", "a"]}), "TypeMismatch", "spec.operators[0].join.on"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(app, code, place):
    assert (code, place) in found(app)


def test_an_extractor_makes_one_key():
    table = {"extractor": {"function": "m:f"}, "schema": "w int", "sideInputs": ["side"]}
    wrong = looked_up(["a", "b"], table, {**SIDE, "broadcast": True})
    (problem,) = planned(wrong).problems
    assert "`on` has 2 columns, and the key of table `t` has 1" in problem.message


def test_other_columns_of_a_key_need_a_new_run():
    class Run:
        run_id, streams, tasks, known_grouper, transactional_ids, stores = "r1", {}, (), None, (), {}
        broadcast_writer_stream = None
        partition_keys = {"by": ("a", "b")}

    edited = sent({"name": "by", "partitionBy": {"key": ["b", "a"]}})
    (problem,) = planned(edited, previous=Run()).problems
    assert problem.code == "RunIdRequired"
    assert "were partitioned by `a`, `b` in this run, and are by `b`, `a` now" in problem.message
    accepted(sent({"name": "by", "partitionBy": {"key": ["a", "b"]}}), previous=Run())


def test_a_key_that_can_not_be_read_is_not_also_missing():
    changes = {"schema": COLUMNS, "key": ["a", "A"], "changes": "upsert"}
    problems = planned(sent({"name": "f", "filter": "v > 0"}, **{"in": changes})).problems
    assert [(problem.path, problem.message) for problem in problems if problem.path == "spec.streams.in.key"] == [
        ("spec.streams.in.key", "`a` is in the key twice; name each column once")
    ]
