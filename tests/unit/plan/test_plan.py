import pytest

from support.plan_documents import accepted, document, found, planned

LOG_AND_FILES = {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "data"}}}
KAFKA = {"log": {"kafka": {"bootstrapServers": "kafka:9092"}}}


def passing(source="in", **fields):
    operators = [{"name": "f", "from": source, "filter": "k is not null"}, {"name": "o", "from": "f", "sendTo": "out"}]
    fields.setdefault("streams", {"in": "k string", "out": {}})
    return document(operators, **fields)


def test_streams_have_roles_addresses_and_readers():
    plan = accepted(
        document(
            [
                {"name": "p", "from": "in", "partitionBy": {"key": "k"}},
                {"name": "shared", "from": "in", "partitionBy": {"key": "k", "stream": "for-others"}},
                {"name": "b", "from": "shared", "broadcast": {}},
                {"name": "look", "from": "p", "joinTable": {"table": "t", "on": "k"}},
                {"name": "o", "from": "look", "sendTo": "out"},
                {"name": "o2", "from": "b", "sendTo": "out"},
            ],
            streams={"in": {"schema": "k string", "name": "topic"}, "side": "k string, v int", "out": {}},
            tables={"t": {"key": "k", "sideInputs": ["side"]}},
        )
    )
    roles = {name: str(stream.role) for name, stream in plan.streams.items()}
    assert roles == {
        "in": "input",
        "side": "sideInput",
        "out": "output",
        "p": "intermediate",
        "shared": "intermediate",
        "b": "intermediate",
    }
    addresses = {name: stream.address for name, stream in plan.streams.items()}
    assert addresses["in"] == "topic"
    assert addresses["p"] == "default.app.r1.p"
    assert addresses["shared"] == "for-others"
    assert (plan.streams["p"].producers, plan.streams["p"].consumers) == (("in",), ("look",))
    assert (plan.streams["out"].producers, plan.streams["side"].consumers) == (("o", "o2"), ("t",))
    assert plan.partition_keys == {"p": "k", "shared": "k", "b": None}
    assert (plan.streams["b"].broadcast, plan.streams["p"].broadcast) == (True, False)


def test_intermediate_streams_carry_namespace_and_run_id():
    app = document(
        [{"name": "p", "from": "in", "partitionBy": {"key": "k"}}, {"name": "o", "from": "p", "sendTo": "out"}],
        streams={"in": "k string", "out": {}},
    )
    app["metadata"]["namespace"] = "team"
    assert accepted(app, run_id="abc").streams["p"].address == "team.app.abc.p"
    app["spec"]["runId"] = "mine"
    assert accepted(app, run_id="abc").streams["p"].address == "team.app.mine.p"


def test_operators_come_in_the_order_of_the_data_with_what_they_need():
    plan = accepted(
        document(
            [
                {"name": "o", "from": "m", "sendTo": "out"},
                {"name": "m", "from": "j", "map": "k as id, v + w as total"},
                {"name": "j", "from": "a", "join": {"with": "b", "on": "k", "within": "1h"}},
            ],
            streams={"a": "k string, v int", "b": "k string, w int", "out": {"key": "id"}},
        )
    )
    assert list(plan.operators) == ["j", "m", "o"]
    assert str(plan.operators["j"].schema) == "k string, v int, w int"
    assert [str(schema) for schema in plan.operators["j"].input_schemas] == ["k string, v int", "k string, w int"]
    assert plan.operators["j"].streams == {"a", "b"}
    assert plan.operators["m"].key == ("id",)
    assert str(plan.streams["out"].schema) == "id string, total int"


def test_window_columns_stand_between_by_and_select():
    plan = accepted(
        document(
            [
                {"name": "w", "from": "in", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
                {"name": "o", "from": "w", "sendTo": "out"},
            ],
            streams={"in": "k string", "out": {}},
        )
    )
    assert str(plan.operators["w"].schema) == "k string, window_start timestamp, window_end timestamp, n bigint"


def test_a_process_has_the_columns_it_says():
    plan = accepted(
        document(
            [
                {"name": "p", "from": "in", "process": {"function": "m:f", "schema": "x int", "state": {"key": "k"}}},
                {"name": "o", "from": "p", "sendTo": "out"},
            ],
            streams={"in": "k string", "out": {}},
        )
    )
    assert str(plan.operators["p"].schema) == "x int"
    assert plan.stateful
    assert set(plan.stores) == {"p"}


def test_a_table_stores_its_value_under_its_key():
    plan = accepted(
        document(
            [
                {"name": "look", "from": "in", "joinTable": {"table": "t", "on": "k"}},
                {"name": "o", "from": "look", "sendTo": "out"},
            ],
            streams={"in": "k string", "side": "k string, v int, w int", "out": {}},
            tables={"t": {"key": "k", "value": "k, v * 2 as twice", "sideInputs": ["side"]}},
        )
    )
    table = plan.tables["t"]
    assert (str(table.row_schema), str(table.schema)) == ("k string, v int, w int", "k string, twice int")
    assert (*map(str, table.key_types), table.fillers, table.broadcast) == ("string", ("side",), False)
    assert str(plan.operators["look"].schema) == "k string, twice int"


def test_a_table_that_only_broadcast_streams_fill_is_broadcast():
    plan = accepted(
        document(
            [
                {"name": "b", "from": "side", "broadcast": {}},
                {"name": "fill", "from": "b", "sendToTable": "t"},
                {"name": "look", "from": "in", "joinTable": {"table": "t", "on": "v"}},
                {"name": "o", "from": "look", "sendTo": "out"},
            ],
            streams={"in": "k string, v string", "side": {"schema": "v string"}, "out": {}},
            tables={"t": {"key": "v", "schema": "v string"}},
        )
    )
    assert plan.tables["t"].broadcast
    assert plan.operators["look"].key == ("k",)


def test_an_extractor_needs_a_schema_and_no_key():
    operators = [
        {"name": "look", "from": "in", "joinTable": {"table": "t", "on": "k"}},
        {"name": "o", "from": "look", "sendTo": "out"},
    ]
    streams = {"in": "k string", "side": {"schema": "raw string"}, "out": {}}
    table = {"extractor": {"function": "m:f"}, "sideInputs": ["side"]}
    assert found(document(operators, streams=streams, tables={"t": table})) == {("InvalidSpec", "spec.tables.t")}
    plan = accepted(document(operators, streams=streams, tables={"t": {**table, "schema": "v int"}}))
    assert str(plan.operators["look"].schema) == "k string, v int"


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        ({"in": {"schema": "k strin"}}, ("InvalidSpec", "spec.streams.in.schema")),
        ({"in": {}}, ("InvalidSpec", "spec.streams.in")),
        ({"in": {"schema": "k string", "key": "x"}}, ("UnknownColumn", "spec.streams.in.key")),
        (
            {"in": {"schema": "k string", "eventTime": {"column": "at"}}},
            ("UnknownColumn", "spec.streams.in.eventTime.column"),
        ),
        (
            {"in": {"schema": "k string", "eventTime": {"column": "k"}}},
            ("TypeMismatch", "spec.streams.in.eventTime.column"),
        ),
        ({"in": "k string", "out": {"key": "id"}}, ("UnknownColumn", "spec.streams.out.key")),
    ],
)
def test_what_is_declared_of_a_stream_is_checked(streams, expected):
    assert found(passing(streams={"out": {}, **streams})) == {expected}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ({"join": {"with": "b", "on": "nope", "within": "1h"}}, ("UnknownColumn", "spec.operators[0].join.on")),
        ({"join": {"with": "n", "on": "k", "within": "1h"}}, ("TypeMismatch", "spec.operators[0].join.on")),
        ({"join": {"with": "same", "on": "k", "within": "1h"}}, ("TypeMismatch", "spec.operators[0].join")),
        (
            {"join": {"with": "b", "on": "k", "within": "1h", "condition": "nope > 1"}},
            ("UnknownColumn", "spec.operators[0].join.condition"),
        ),
        ({"join": {"with": "b", "on": "k", "condition": "k > 'a'"}}, ("InvalidSpec", "spec.operators[0].join")),
        ({"joinTable": {"table": "t", "on": "nope"}}, ("UnknownColumn", "spec.operators[0].joinTable.on")),
        ({"joinTable": {"table": "u", "on": "k"}}, ("TypeMismatch", "spec.operators[0].joinTable.on")),
        (
            {"aggregate": {"by": ["nope"], "select": "count(*) as n"}},
            ("UnknownColumn", "spec.operators[0].aggregate.by"),
        ),
        (
            {"aggregate": {"by": ["k"], "select": "sum(z) as n"}},
            ("UnknownColumn", "spec.operators[0].aggregate.select"),
        ),
        ({"flatMap": "k, explode(v) as x"}, ("TypeMismatch", "spec.operators[0].flatMap")),
        ({"process": {"function": "m:f", "schema": "?"}}, ("InvalidSpec", "spec.operators[0].process.schema")),
    ],
)
def test_columns_that_do_not_fit_are_reported_once(operator, expected):
    app = document(
        [
            {"name": "x", "from": "a", **operator},
            {"name": "after", "from": "x", "filter": "whatever > 1"},
            {"name": "o", "from": "after", "sendTo": "out"},
            *({"name": f"use-{name}", "from": name, "sendTo": "out"} for name in ("b", "n", "same")),
            {"name": "use-t", "from": "a", "joinTable": {"table": "t", "on": "k"}},
            {"name": "o-t", "from": "use-t", "sendTo": "out"},
            {"name": "use-u", "from": "n", "joinTable": {"table": "u", "on": "k"}},
            {"name": "o-u", "from": "use-u", "sendTo": "out"},
        ],
        streams={
            "a": "k string, v int",
            "b": "k string, w int",
            "n": "k int, w int",
            "same": "k string, v int",
            "st": "k string, x int",
            "su": "k bigint, x int",
            "out": {},
        },
        tables={"t": {"key": "k", "sideInputs": ["st"]}, "u": {"key": "k", "sideInputs": ["su"]}},
    )
    assert found(app) - {("UnknownColumn", "spec.operators[1].filter")} == {expected}


@pytest.mark.parametrize(("kind", "refuses"), [("inner", False), ("left", False), ("right", True), ("full", True)])
def test_the_left_key_of_an_outer_join_holds_every_right_one(kind, refuses):
    timed = {"eventTime": {"column": "at"}, "key": "k"}
    streams = {"a": {"schema": "k int, at timestamp", **timed}, "b": {"schema": "k bigint, t timestamp", **timed}}
    streams["b"] = streams["b"] | {"eventTime": {"column": "t"}}
    joined = {"name": "x", "from": "a", "join": {"with": "b", "on": "k", "type": kind, "within": "1h"}}
    app = document([joined, {"name": "o", "from": "x", "sendTo": "out"}], streams=streams | {"out": {}})
    assert found(app) == ({("TypeMismatch", "spec.operators[0].join.on")} if refuses else set())


def test_merged_inputs_have_the_same_columns():
    app = document(
        [
            {"name": "m", "from": ["a", "b"], "merge": {}},
            {"name": "o", "from": "m", "sendTo": "out"},
        ],
        streams={"a": "k string, v int", "b": "k string, v double", "out": {}},
    )
    assert found(app) == {("TypeMismatch", "spec.operators[0].from[1]")}


def test_what_fills_a_table_has_its_columns():
    app = document(
        [
            {"name": "fill", "from": "b", "sendToTable": "t"},
            {"name": "look", "from": "a", "joinTable": {"table": "t", "on": "k"}},
            {"name": "o", "from": "look", "sendTo": "out"},
        ],
        streams={"a": "k string", "b": "k string, v int, more int", "out": {}},
        tables={"t": {"key": "k", "schema": "k string, v double"}},
    )
    assert found(app) == {("TypeMismatch", "spec.operators[0].sendToTable")}
    app["spec"]["tables"]["t"]["schema"] = "k string, v int"
    assert str(accepted(app).operators["look"].schema) == "k string, v int"


def test_files_without_an_event_time_reach_no_window():
    operators = [
        {"name": "f", "from": "in", "filter": "true"},
        {"name": "w", "from": "f", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}},
        {"name": "o", "from": "w", "sendTo": "out"},
    ]
    streams = {"in": {"system": "files", "schema": "k string, at timestamp", "key": "k"}, "out": {}}
    app = document(operators, streams=streams, systems=LOG_AND_FILES)
    assert found(app, {"in": 1}) == {("EventTimeMissing", "spec.operators[1].window")}
    operators[1]["window"]["time"] = "processing"
    assert accepted(document(operators, streams=streams, systems=LOG_AND_FILES), {"in": 1}).mode == "bounded"
    del operators[1]["window"]["time"]
    streams["in"]["eventTime"] = {"column": "at"}
    assert accepted(document(operators, streams=streams, systems=LOG_AND_FILES), {"in": 1}).mode == "bounded"


NESTED_TIMES = "k string, Bid struct<At:timestamp,price:bigint>, noted string"


@pytest.mark.parametrize(
    ("event_time", "problem"),
    [
        ({"column": "bid.at"}, None),
        ({"column": "BID.price", "orElse": ["bid.at"]}, None),
        ({"column": "bid.when"}, ("UnknownColumn", "spec.streams.in.eventTime.column")),
        ({"column": "noted.at"}, ("UnknownColumn", "spec.streams.in.eventTime.column")),
        ({"column": "bid"}, ("TypeMismatch", "spec.streams.in.eventTime.column")),
        ({"column": "bid.at", "orElse": ["bid.at", "noted"]}, ("TypeMismatch", "spec.streams.in.eventTime.orElse[1]")),
    ],
)
def test_an_event_time_may_be_a_field_of_structs_and_stand_in_several_places(event_time, problem):
    operators = [{"name": "f", "from": "in", "filter": "true"}, {"name": "o", "from": "f", "sendTo": "out"}]
    app = document(operators, streams={"in": {"schema": NESTED_TIMES, "eventTime": event_time}, "out": {}})
    if problem is None:
        assert accepted(app, {"in": 1})
    else:
        assert found(app, {"in": 1}) == {problem}


def ordered(order=None, *, state=True, **stream):
    """Give an app with a function over files, whose rows have event times or not."""
    process = {"function": "m:f", "schema": "k string"} | ({"state": {"key": "k"}} if state else {})
    operators = [
        {"name": "p", "from": "in", "process": process | ({} if order is None else {"order": order})},
        {"name": "o", "from": "p", "sendTo": "out"},
    ]
    streams = {"in": {"system": "files", "schema": "k string, at timestamp", "key": "k", **stream}, "out": {}}
    return document(operators, streams=streams, systems=LOG_AND_FILES)


@pytest.mark.parametrize(
    "order, stream, planned_order",
    [
        (None, {}, "arrival"),
        (None, {"eventTime": {"column": "at"}}, "eventTime"),
        ("eventTime", {"eventTime": {"column": "at"}}, "eventTime"),
        ("arrival", {"eventTime": {"column": "at"}}, "arrival"),
        (None, {"system": "log"}, "eventTime"),
    ],
)
def test_a_function_with_state_takes_rows_by_event_time_where_they_have_one(order, stream, planned_order):
    assert accepted(ordered(order, **stream), {"in": 1}).operators["p"].order == planned_order


def test_the_order_of_event_times_needs_them_and_state():
    assert found(ordered("eventTime"), {"in": 1}) == {("EventTimeMissing", "spec.operators[0].process.order")}
    dated = {"eventTime": {"column": "at"}}
    assert found(ordered("eventTime", state=False, **dated), {"in": 1}) == {
        ("InvalidSpec", "spec.operators[0].process")
    }
    assert accepted(ordered("arrival", state=False, **dated), {"in": 1}).operators["p"].order is None


def test_the_order_of_a_function_is_part_of_its_store():
    by_time, explicit, arrival = (
        accepted(ordered(order, eventTime={"column": "at"}), {"in": 1}).stores["p"]
        for order in (None, "eventTime", "arrival")
    )
    assert by_time == explicit != arrival


def test_streams_that_are_missing_are_made_where_that_is_possible():
    made = {"in": {"schema": "k string", "partitions": 3}, "out": {"partitions": 2}}
    plan = accepted(passing(streams=made, systems=KAFKA))
    assert {name: stream.partitions for name, stream in plan.streams.items()} == {"in": 3, "out": 2}
    assert accepted(passing()).streams["in"].partitions == 1
    assert found(passing(systems=KAFKA)) == {
        ("StreamNotFound", "spec.streams.in"),
        ("StreamNotFound", "spec.streams.out"),
    }


def test_files_are_read_where_they_are_and_made_where_they_are_written():
    streams = {"in": {"system": "files", "schema": "k string"}, "out": {"system": "files"}}
    assert found(passing(streams=streams, systems=LOG_AND_FILES)) == {("StreamNotFound", "spec.streams.in")}
    plan = accepted(passing(streams=streams, systems=LOG_AND_FILES), {"in": 5})
    assert (plan.streams["out"].partitions, plan.mode) == (1, "bounded")


def test_broadcast_inputs_do_not_count_for_the_maximum():
    app = document(
        [
            {"name": "p", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "j", "from": "p", "join": {"with": "b", "on": "k", "within": "1h"}},
            {"name": "o", "from": "j", "sendTo": "out"},
        ],
        streams={"in": "k string", "b": {"schema": "k string", "broadcast": True}, "out": {}},
    )
    assert accepted(app, {"in": 3, "b": 50}).streams["p"].partitions == 3


def test_an_app_has_a_largest_number_of_partitions():
    assert accepted(passing(), {"in": 9_999, "out": 1}).streams["in"].partitions == 9_999
    assert found(passing(), {"in": 10_000, "out": 1}) == {("TooManyPartitions", "spec")}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"systems": {"log": {"file": {"path": "data"}}}}, {("DeliveryUnsupported", "spec.job.delivery")}),
        (
            {"systems": {"log": {"file": {"path": "data"}}}, "job": {"delivery": "atLeastOnce"}},
            {("InvalidSpec", "spec.defaultSystem")},
        ),
        (
            {"systems": {"log": {"log": {"path": "a"}}, "b": {"log": {"path": "b"}}}, "defaultSystem": "b"},
            {("DeliveryUnsupported", "spec.job.delivery")},
        ),
        (
            {"systems": {"log": {"log": {"path": "a"}}, "b": {"log": {"path": "b"}}}, "defaultSystem": None},
            {("DeliveryUnsupported", "spec.job.delivery")},
        ),
        ({"defaultSystem": None}, set()),
        ({"job": {"delivery": "atLeastOnce"}}, set()),
    ],
)
def test_delivery_needs_one_system_with_transactions(fields, expected):
    assert found(passing(**fields), {"in": 1, "out": 1}) == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"delivery": "atLeastOnce"}, {("DeliveryUnsupported", "spec.job.delivery")}),
        ({"grouper": "all"}, {("GrouperUnsupported", "spec.job.grouper")}),
        ({"expansionAlgorithm": "none-such"}, {("InvalidSpec", "spec.job.expansionAlgorithm")}),
        ({"grouper": "stream-partition"}, set()),
    ],
)
def test_state_asks_for_more_of_a_job(job, expected):
    app = document(
        [
            {"name": "c", "from": "in", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
            {"name": "o", "from": "c", "sendTo": "out"},
        ],
        streams={"in": "k string", "out": {}},
        job=job,
    )
    assert found(app) == expected


def test_nothing_is_planned_of_a_document_that_is_too_broken():
    app = passing()
    app["spec"]["operators"] = "none"
    result = planned(app)
    assert result.plan is None
    assert result.problems


def test_no_consequences_of_a_broken_operator_are_reported():
    app = document(
        [
            {"name": "bad", "from": "in", "filtr": "true"},
            {"name": "w", "from": "bad", "window": {"tumbling": "1h", "by": ["x"], "select": "count(*) as n"}},
            {"name": "j", "from": "bad", "join": {"with": "in", "on": "k", "within": "1h"}},
            {"name": "m", "from": ["bad", "in"], "merge": {}},
            {"name": "o", "from": "w", "sendTo": "out"},
            {"name": "o2", "from": "j", "sendTo": "out"},
            {"name": "o3", "from": "m", "sendTo": "out"},
        ],
        streams={"in": "k string", "out": {"key": "x"}},
    )
    assert {code for code, _ in found(app)} == {"InvalidSpec"}


def test_the_topology_hash_tells_apps_apart():
    one, other = accepted(passing()), accepted(passing(streams={"in": "k string, v int", "out": {}}))
    assert one.topology_hash != other.topology_hash
    assert one.topology_hash == accepted(passing(processors={"count": 7})).topology_hash


def test_a_table_that_is_filled_and_joined_but_not_declared_is_told_at_both():
    operators = [
        {"name": "by", "from": "a", "partitionBy": {"key": "k"}},
        {"name": "fill", "from": "by", "sendToTable": "t"},
        {"name": "joined", "from": "b", "joinTable": {"table": "t", "on": "k"}},
        {"name": "sent", "from": "joined", "sendTo": "out"},
    ]
    app = document(operators, streams={"a": "k string, v int", "b": "k string, w int", "out": {}})
    problems = [(problem.path, str(problem.code)) for problem in planned(app).problems]
    assert problems == [
        ("spec.operators[1].sendToTable", "UnknownTable"),
        ("spec.operators[2].joinTable.table", "UnknownTable"),
    ]
