import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from support.plan_documents import accepted, document, found

COUNT = {"by": ["k"], "select": "count(*) as n"}


def counting(key="k", *, stateful=True, **fields):
    step = {"aggregate": COUNT} if stateful else {"filter": "true"}
    return document(
        [
            {"name": "p", "from": "in", "partitionBy": {"key": key}},
            {"name": "c", "from": "p", **step},
            {"name": "o", "from": "c", "sendTo": "out"},
        ],
        streams={"in": "k string, g string", "out": {}},
        **fields,
    )


def model(app, counts, previous=None):
    return build_job_model(accepted(app, counts, previous), previous)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"job": {"grouper": "stream-partition"}}, "spec.job.grouper"),
        ({"key": "g", "stateful": False}, "spec.operators[0].partitionBy.key"),
    ],
)
def test_edits_that_lose_state_need_a_new_run_id(fields, path):
    before = model(counting(stateful="key" not in fields), {"in": 2})
    assert found(counting(**fields), {"in": 2}, before) == {("RunIdRequired", path)}
    accepted(counting(**fields, runId="new"), {"in": 2}, before)


def test_the_grouper_of_an_old_model_is_known_by_its_task_names():
    document_ = model(counting(), {"in": 2}).to_document()
    del document_["grouper"]
    old = JobModel.model_validate(document_)
    assert found(counting(job={"grouper": "stream-partition"}), {"in": 2}, old) == {
        ("RunIdRequired", "spec.job.grouper")
    }


def test_an_intermediate_stream_that_is_gone_needs_a_new_run_id():
    before = model(counting(), {"in": 2})
    app = document(
        [{"name": "c", "from": "in", "aggregate": COUNT}, {"name": "o", "from": "c", "sendTo": "out"}],
        streams={"in": "k string, g string", "out": {}},
    )
    assert ("RunIdRequired", "spec.operators") in found(app, {"in": 2}, before)


@pytest.mark.parametrize(
    ("select", "same"), [("count( * )  AS n", True), ("count(*) as m", True), ("sum(length(g)) as n", False)]
)
def test_a_store_keeps_its_shape_within_a_run(select, same):
    before = model(counting(), {"in": 2})
    app = counting()
    app["spec"]["operators"][1]["aggregate"] = {"by": ["k"], "select": select}
    assert found(app, {"in": 2}, before) == (set() if same else {("RunIdRequired", "spec.operators[1]")})


def test_a_table_keeps_its_shape_within_a_run():
    def app(**table):
        return document(
            [
                {"name": "look", "from": "in", "joinTable": {"table": "t", "on": "k"}},
                {"name": "o", "from": "look", "sendTo": "out"},
            ],
            streams={"in": "k string", "side": "k string, v int, w int", "out": {}},
            tables={"t": {"key": "k", "sideInputs": ["side"], **table}},
        )

    before = model(app(), {})
    accepted(app(maxAge="1h", bootstrap=False), {}, before)
    assert found(app(value="k, v"), {}, before) == {("RunIdRequired", "spec.tables.t")}


@given(st.integers(1, 6), st.integers(1, 30), st.booleans())
def test_growth_is_judged_where_there_is_state_and_shrinking_always(initial, now, stateful):
    app = counting(stateful=stateful)
    before = model(app, {"in": initial})
    problems = found(app, {"in": now}, before)
    if now < initial:
        assert problems == {("PartitionCountShrunk", "spec.streams.in")}
    elif stateful and now % initial:
        assert problems == {("UnsupportedExpansion", "spec.streams.in")}
    else:
        stream = accepted(app, {"in": now}, before).streams["in"]
        assert (stream.partitions, stream.initial_partitions) == (now, initial if stateful else now)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_an_intermediate_stream_keeps_its_count_and_growth_in_steps_its_start(factors):
    app, previous, count = counting(), None, 2
    for factor in factors:
        count *= factor
        plan = accepted(app, {"in": count}, previous)
        previous = build_job_model(plan, previous)
        assert plan.streams["in"].initial_partitions == 2 * factors[0]
        assert plan.streams["p"].partitions == 2 * factors[0]
    assert plan.streams["p"].rule == ("initial" if len(factors) > 1 else "maximum")


def test_a_broadcast_intermediate_stream_that_is_kept_stays_broadcast():
    app = document(
        [{"name": "b", "from": "in", "broadcast": {}}, {"name": "o", "from": "b", "sendTo": "out"}],
        streams={"in": "k string", "out": {}},
    )
    stream = accepted(app, {"in": 2}, model(app, {"in": 2})).streams["b"]
    assert (stream.rule, stream.partitions) == ("broadcast", 1)


def test_the_run_id_is_that_of_the_spec_then_the_previous_one():
    before = model(counting(runId="first"), {"in": 2})
    assert accepted(counting(), {"in": 2}, before, run_id="other").run_id == "first"
    assert accepted(counting(runId="mine"), {"in": 2}, before, run_id="other").run_id == "mine"
    assert accepted(counting(), {"in": 2}, run_id="other").run_id == "other"


def reading(*names, grouper="stream-partition", **streams):
    """Give an app that sends each of these streams on; `rates` is one that every task reads."""
    declared = {name: {"schema": "k string", "broadcast": name == "rates"} for name in names}
    return document(
        [{"name": f"from-{name}", "from": name, "sendTo": "out"} for name in names],
        streams={**declared, "out": {}},
        job={"grouper": grouper},
    )


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (["a", "b", "rates"], ["b", "rates"], True),
        (["a", "b", "rates"], ["a", "rates"], False),
        (["a", "b", "rates"], ["a", "b"], False),
        (["a", "b"], ["b", "rates"], False),
        (["a", "b"], ["b"], False),
        (["rates"], ["rates"], False),
        (["rates"], ["a", "rates"], True),
        (["a", "rates"], ["rates"], True),
    ],
)
def test_the_task_that_writes_broadcast_rows_stays_or_the_run_ends(before, after, refused):
    counts = {"a": 2, "b": 2, "rates": 1}
    previous = model(reading(*before), counts)
    edited = reading(*after)
    problems = found(edited, counts, previous)
    assert problems == ({("RunIdRequired", "spec.operators")} if refused else set())
    if not refused and {"rates"} <= {*before} & {*after}:
        assert model(edited, counts, previous).broadcast_writer == previous.broadcast_writer
    by_partition = model(reading(*before, grouper="partition"), counts)
    accepted(reading(*after, grouper="partition"), counts, by_partition)


def rated(*names, stateful=True, grouper="partition"):
    """Give an app whose tasks all have the rows of `rates`, which a `broadcast` of its own sends to them."""
    step = {"aggregate": COUNT} if stateful else {"filter": "true"}
    steps = [{"name": "all-rates", "from": "rates", "broadcast": {}}]
    steps += ({"name": f"by-{name}", "from": name, **step} for name in names)
    return document(
        [*steps, *({"name": f"o-{of['name']}", "from": of["name"], "sendTo": f"to-{of['name']}"} for of in steps)],
        streams=dict.fromkeys(("rates", *names), "k string") | {f"to-{of['name']}": {} for of in steps},
        job={"grouper": grouper},
    )


@pytest.mark.parametrize(
    ("added", "fields", "refused"),
    [
        (3, {}, True),
        (2, {}, False),
        (3, {"stateful": False}, False),
        (2, {"grouper": "stream-partition"}, True),
    ],
)
def test_tasks_that_would_miss_broadcast_rows_need_a_new_run(added, fields, refused):
    counts = {"rates": 1, "a": 2, "b": added}
    previous = model(rated("a", **fields), counts)
    edited = rated("a", "b", **fields)
    assert found(edited, counts, previous) == ({("RunIdRequired", "spec.streams.b")} if refused else set())
    if fields.get("stateful", True):
        assert refused == (model(edited, counts).tasks.keys() > previous.tasks.keys())


def counting_changes(source):
    return document(
        [
            {"name": "p", "from": source, "partitionBy": {"key": "g"}},
            {"name": "c", "from": "p", "aggregate": {"by": ["g"], "select": "count(*) as n"}},
            {"name": "o", "from": "c", "sendTo": "out"},
            {"name": "other", "from": "b" if source == "a" else "a", "sendTo": "copy"},
        ],
        streams={
            **{name: {"schema": "k string, g string", "key": "k", "changes": "upsert"} for name in "ab"},
            "out": {"key": "g"},
            "copy": {"key": "k"},
        },
    )


def test_state_of_changes_is_that_of_one_stream():
    """The rows of the one that was read before would stay in the counts, or be replaced by rows of the other."""
    before = model(counting_changes("a"), {"a": 2, "b": 2})
    accepted(counting_changes("a"), {"a": 2, "b": 2}, before)
    assert found(counting_changes("b"), {"a": 2, "b": 2}, before) == {
        ("RunIdRequired", f"spec.operators[{place}]") for place in (0, 1)
    }


def totals(query):
    return document(
        [{"name": "t", "sql": query}, {"name": "o", "from": "t", "sendTo": "out"}],
        streams={"in": "k string, g string", "out": {"key": "k"}},
    )


@pytest.mark.parametrize("select", ["count(*) as n", "sum(length(g)) as n"])
def test_what_was_removed_with_its_state_does_not_come_back_in_a_run(select):
    """Its state lies where it was, and has missed the rows that came in between."""
    counts = {"in": 2}
    with_state = model(counting(), counts)
    without = model(counting(stateful=False), counts, with_state)
    still_without = model(counting(stateful=False), counts, without)
    app = counting()
    app["spec"]["operators"][1]["aggregate"] = {"by": ["k"], "select": select}
    assert found(app, counts, still_without) == {("RunIdRequired", "spec.operators[1]")}
    app["spec"]["operators"][1]["name"] = app["spec"]["operators"][2]["from"] = "another"
    accepted(app, counts, still_without)


def test_a_query_keeps_the_state_that_it_has_in_a_run():
    """A step that has another name would begin with nothing, unseen by who wrote the query."""
    groups = "select k, count(*) as n from in group by k"
    before = model(totals(groups), {"in": 2})
    accepted(totals(f"{groups} having count(*) > 1"), {"in": 2}, before)
    assert found(totals("select distinct k from in"), {"in": 2}, before) == {("RunIdRequired", "spec.operators[0].sql")}
