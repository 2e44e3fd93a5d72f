"""Tables of PostgreSQL as outputs: what the planner refuses, and how it is mended."""

import pytest

from support.plan_documents import accepted, check_refused, document, found, planned

DATABASE = {"postgresql": {"uri": "postgresql://host/shop"}}
EVENTS = {"name": "sent", "from": "rows", "sendTo": "out"}
RUNNING = [
    {"name": "counted", "from": "rows", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
    {"name": "sent", "from": "counted", "sendTo": "out"},
]


def app(operators=(EVENTS,), columns="k bigint, v string", rows=None, **out):
    return document(
        list(operators),
        streams={"rows": {"schema": columns, "key": "k", **(rows or {})}, "out": {"system": "shop", **out}},
        systems={"log": {"log": {"path": "log"}}, "shop": DATABASE},
    )


@pytest.mark.parametrize(
    "accepted_app",
    [
        app(),
        app(name="sales.out"),
        app(RUNNING, key="k"),
        app(RUNNING, key="K"),
        app(RUNNING, changes="log"),
        app(rows={"changes": "upsert"}, key="k"),
        app([EVENTS, {"name": "sent-again", "from": "rows", "sendTo": "out"}]),
        app(columns="k bigint, v decimal(38,2), w timestamp, x binary, y tinyint"),
    ],
)
def test_tables_take_events_and_the_newest_rows_of_keys(accepted_app):
    plan = accepted(accepted_app)
    assert plan.streams["out"].partitions == 1


@pytest.mark.parametrize(
    ("refused", "path", "code"),
    [
        (app(key="k"), "key", "NotSupported"),
        (app(RUNNING), "key", "ChangesUnsupported"),
        (app(RUNNING, key="n"), "key", "ChangesUnsupported"),
        (app(rows={"changes": "upsert"}), "key", "ChangesUnsupported"),
        (app(RUNNING, key="k", changes="final"), "changes", "NotSupported"),
        (app(changes="log"), "changes", "NotSupported"),
        (app(RUNNING, changes="log", key="k"), "key", "NotSupported"),
        (app(format="csv"), "format", "NotSupported"),
        (app(json={"timestamps": "millis"}), "json", "NotSupported"),
        (app(keyFormat="long"), "keyFormat", "NotSupported"),
        (app(recordTime="processingTime"), "recordTime", "NotSupported"),
        (app(partitions=3), "partitions", "NotSupported"),
        (app(folderColumns=["k"]), "folderColumns", "NotSupported"),
        (app(startingVersion=3), "startingVersion", "NotSupported"),
        (app(name="a.b.c"), "name", "NotSupported"),
        (app(name='a"b'), "name", "NotSupported"),
        (app(name="t" * 64), "name", "NotSupported"),
        (app(columns="k bigint, v array<int>"), "", "NotSupported"),
        (app(columns="k bigint, v variant"), "", "NotSupported"),
        (app(columns="k bigint, xmin int"), "", "NotSupported"),
        (app(columns=f"k bigint, {'v' * 64} int"), "", "NotSupported"),
        (app([*RUNNING, {"name": "again", "from": "counted", "sendTo": "out"}], key="k"), "", "NotSupported"),
        (
            app([EVENTS, {"name": "fewer", "from": "rows", "map": "k"}, {**EVENTS, "name": "s", "from": "fewer"}]),
            "",
            "NotSupported",
        ),
    ],
)
def test_what_no_table_can_be_is_refused(refused, path, code):
    check_refused(refused, code, ".".join(filter(None, ("spec.streams.out", path))))


def test_the_key_that_is_missing_is_told():
    (problem,) = planned(app(RUNNING)).problems
    assert "table `out` has one row for each key, and its `key` is not given; set it to `k`" in problem.message


@pytest.mark.parametrize("system", ["shop", "same"])
def test_two_streams_are_not_one_table(system):
    refused = app([EVENTS, {"name": "sent-again", "from": "rows", "sendTo": "twin"}])
    refused["spec"]["systems"]["same"] = {"postgresql": {**DATABASE["postgresql"], "stagingSchema": "other"}}
    refused["spec"]["streams"]["twin"] = {"system": system, "name": "public.out"}
    assert found(refused) == {("NotSupported", "spec.streams.twin.name")}


def test_a_table_is_not_read():
    operators = [{"name": "sent", "from": "in", "sendTo": "rows"}]
    streams = {"in": {"system": "shop", "schema": "k bigint"}, "rows": {"key": "k"}}
    systems = {"log": {"log": {"path": "log"}}, "shop": DATABASE}
    assert ("NotSupported", "spec.streams.in.system") in found(document(operators, streams=streams, systems=systems))


def test_a_table_is_no_place_for_streams_between_tasks():
    refused = app(RUNNING, key="k")
    refused["spec"]["defaultSystem"] = "shop"
    assert ("DeliveryUnsupported", "spec.job.delivery") in found(refused)


@pytest.mark.parametrize("uri", ["postgresql://host", "postgresql://user@host/db", "postgresql://host/db?sslmode=off"])
def test_an_address_that_is_no_database_is_refused(uri):
    refused = app()
    refused["spec"]["systems"]["shop"] = {"postgresql": {"uri": uri}}
    assert found(refused) == {("InvalidSpec", "spec.systems.shop.postgresql.uri")}
