import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.plan_documents import accepted, document, found, planned, repaired

STREAMS = {"a": "k string, x string, v int", "b": "k string, w int", "out": {}}
JOIN = {"with": "b", "on": "k", "within": "1h"}


def then(*operators, streams=STREAMS, **fields):
    """A chain of operators that begins at `a` and ends in `out`."""
    names = ["a", *(operator["name"] for operator in operators)]
    chained = [{"from": before, **operator} for before, operator in zip(names, operators, strict=False)]
    operators_ = [*chained, {"name": "o", "from": names[-1], "sendTo": "out"}]
    used = {name: stream for name, stream in streams.items() if f"'{name}'" in str([operators_, fields])}
    return document(operators_, streams=used, **fields)


def assert_repaired(app, code):
    (problem,) = planned(app).problems
    assert problem.code == code
    assert problem.repair is not None
    assert problem.repair.text in problem.message
    accepted(repaired(app, problem.repair))


@pytest.mark.parametrize(
    "step",
    [
        {"filter": "v > 0"},
        {"map": "k, v"},
        {"map": "k as k, k as again, v"},
        {"map": "K, v"},
        {"flatMap": "k, explode(split(x, ',')) as x"},
        {"partitionBy": {"key": "k"}},
        {"window": {"tumbling": "1h", "by": ["k", "x"], "select": "count(*) as n"}},
    ],
)
def test_a_key_that_is_kept_can_be_joined(step):
    accepted(then({"name": "s", **step}, {"name": "j", "join": JOIN}))


@pytest.mark.parametrize(
    "step",
    [
        {"map": "upper(k) as k, v"},
        {"map": "x as k, v"},
        {"flatMap": "explode(split(k, ',')) as k"},
        {"partitionBy": {"key": "x"}},
        {"process": {"function": "m:f", "schema": "k string"}},
    ],
)
def test_a_key_that_is_lost_can_not_be_joined_and_the_repair_mends_it(step):
    app = then({"name": "s", **step}, {"name": "j", "join": JOIN})
    assert found(app) == {("JoinKeyMismatch", "spec.operators[1].join.on")}
    assert_repaired(app, "JoinKeyMismatch")


def test_a_key_of_java_numbers_does_not_meet_one_of_text():
    streams = {"a": {"schema": "k int", "key": "k", "keyFormat": "int"}, "b": "k int, w int", "out": {}}
    app = then({"name": "j", "join": JOIN}, streams=streams)
    assert found(app) == {("JoinKeyMismatch", "spec.operators[0].join.on")}
    assert_repaired(app, "JoinKeyMismatch")


@pytest.mark.parametrize("by", [["x"], ["x", "v"]])
@pytest.mark.parametrize("kind", ["aggregate", "window"])
def test_groups_without_the_key_are_mended_by_a_partition_by(kind, by):
    group = {"by": by, "select": "count(*) as n"}
    app = then({"name": "g", kind: {"tumbling": "1h", **group} if kind == "window" else group})
    assert found(app) == {("GroupKeyMismatch", f"spec.operators[0].{kind}.by")}
    assert_repaired(app, "GroupKeyMismatch")


def test_a_state_by_another_key_is_mended_by_a_partition_by():
    app = then({"name": "p", "process": {"function": "m:f", "schema": "x string", "state": {"key": "x"}}})
    assert found(app) == {("GroupKeyMismatch", "spec.operators[0].process.state.key")}
    assert_repaired(app, "GroupKeyMismatch")


def test_a_state_by_the_key_of_its_stream_is_accepted():
    accepted(then({"name": "p", "process": {"function": "m:f", "schema": "x string", "state": {"key": "k"}}}))


def test_a_window_over_everything_has_no_repair():
    (problem,) = planned(then({"name": "w", "window": {"tumbling": "1h", "select": "count(*) as n"}})).problems
    assert (problem.code, problem.repair) == ("GroupKeyMismatch", None)


def test_a_broadcast_stream_may_be_grouped_by_anything():
    group = {"aggregate": {"by": ["x"], "select": "count(*) as n"}}
    accepted(then({"name": "b1", "broadcast": {}}, {"name": "g", **group}))


def test_rows_joined_with_a_broadcast_table_keep_their_own_key():
    streams = {**STREAMS, "b": {"schema": "x string, model string", "broadcast": True}}
    tables = {"t": {"key": "x", "sideInputs": ["b"]}}
    look = {"name": "look", "joinTable": {"table": "t", "on": "x"}}
    count = "count(*) as n"
    accepted(then(look, {"name": "g", "aggregate": {"by": ["k"], "select": count}}, streams=streams, tables=tables))
    wrong = then(look, {"name": "g", "aggregate": {"by": ["x"], "select": count}}, streams=streams, tables=tables)
    assert found(wrong) == {("GroupKeyMismatch", "spec.operators[1].aggregate.by")}


@pytest.mark.parametrize("table", [{"key": "upper(k)"}, {"key": "w"}])
def test_a_side_input_with_another_key_than_its_table_becomes_broadcast(table):
    streams = {**STREAMS, "b": "k string, w string"}
    app = then(
        {"name": "look", "joinTable": {"table": "t", "on": "k"}},
        streams=streams,
        tables={"t": {**table, "value": "w", "sideInputs": ["b"]}},
    )
    assert_repaired(app, "JoinKeyMismatch")


def test_a_filler_with_another_key_than_its_table_is_partitioned():
    app = document(
        [
            {"name": "look", "from": "a", "joinTable": {"table": "t", "on": "k"}},
            {"name": "o", "from": "look", "sendTo": "out"},
            {"name": "m", "from": "b", "map": "lower(k) as k"},
            {"name": "fill", "from": "m", "sendToTable": "t"},
        ],
        streams=STREAMS,
        tables={"t": {"key": "k", "schema": "k string"}},
    )
    assert_repaired(app, "JoinKeyMismatch")


@given(st.lists(st.sampled_from(["k", "k as id", "v", "upper(k) as up", "x as z"]), min_size=1, unique=True))
def test_a_map_keeps_the_key_under_each_of_its_plain_names(items):
    app = then({"name": "m", "map": ", ".join(items)})
    keys = {{"k": "k", "k as id": "id"}[item] for item in items if item in ("k", "k as id")}
    assert accepted(app).operators["m"].key == tuple(sorted(keys)[:1])


@pytest.mark.parametrize("system, says", [("land", "by their files"), ("files", "a.partitioned: true")])
def test_a_key_of_files_says_nothing_of_their_partitions(system, says):
    systems = {"log": {"log": {"path": "l"}}, "files": {"file": {"path": "."}}, "land": {"folder": {"path": "."}}}
    source = {"system": system, "format": "csv", "key": "k", "schema": "k string, v int"}
    grouped = [
        {"name": "g", "from": "a", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
        {"name": "o", "from": "g", "sendTo": "out"},
    ]
    app = document(grouped, streams={"a": source, "out": {"system": "files", "format": "csv"}}, systems=systems)
    (problem,) = planned(app, {"a": 2, "out": 1}).problems
    assert says in problem.message
    assert ("partitioned: true" in problem.message) is (system == "files")


class TestExtractedTables:
    """An extractor makes the keys of a table: of the stream's key, one supposes, but files have no place for keys."""

    COUNTS = {"a": 4, "side": 4, "out": 1}

    def app(self, **side):
        systems = {"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}}
        streams = {"a": STREAMS["a"], "side": {"schema": "k string, w int", **side}, "out": {}}
        tables = {"t": {"extractor": {"function": "m:f"}, "sideInputs": ["side"], "schema": "city string"}}
        joined = {"name": "j", "from": "a", "joinTable": {"table": "t", "on": "k"}}
        return document(
            [joined, {"name": "o", "from": "j", "sendTo": "out"}], streams=streams, tables=tables, systems=systems
        )

    @pytest.mark.parametrize("key", [{}, {"key": "k"}, {"key": "k", "partitioned": True}])
    def test_files_do_not_lie_as_the_keys_of_the_other_side_do(self, key):
        app = self.app(system="files", format="csv", **key)
        (problem,) = planned(app, self.COUNTS).problems
        assert (problem.code, problem.path) == ("JoinKeyMismatch", "spec.operators[0].joinTable.on")
        assert problem.repair.text == "make side input `side` a broadcast stream, of which every task has all"
        accepted(repaired(app, problem.repair), self.COUNTS)

    @pytest.mark.parametrize("key", [{}, {"key": "k"}, {"key": "k", "partitioned": True}])
    def test_one_file_is_in_one_task_with_the_other_side(self, key):
        accepted(self.app(system="files", format="csv", **key), {"a": 1, "side": 1, "out": 1})

    def test_keys_of_other_bytes_are_in_other_partitions(self):
        app = self.app(key="w", keyFormat="int")
        assert found(app, self.COUNTS) == {("JoinKeyMismatch", "spec.operators[0].joinTable.on")}
        accepted(app, dict.fromkeys(self.COUNTS, 1))

    @pytest.mark.parametrize("key", [{}, {"key": "w"}])
    def test_of_topics_the_extractor_is_believed(self, key):
        accepted(self.app(**key), self.COUNTS)


def test_the_grouper_that_gives_every_task_all_rows_keeps_the_other_parts_of_types():
    streams = {"a": {"system": "files", "format": "csv", "schema": "k string"}, "out": {}}
    app = document(
        [{"name": "o", "from": "a", "sendTo": "out"}],
        streams=streams,
        systems={"log": {"log": {"path": "log"}}, "files": {"file": {"path": "."}}},
        job={"grouper": "all"},
    )
    stream = accepted(app, {"a": 2}).streams["a"]
    assert (stream.type.everywhere, stream.type.undated_by) == (True, "a")


def test_the_grouper_that_gives_every_task_all_rows_gives_it_all_of_a_table():
    """No partitionBy would mend anything: the state of the table is the only reason against this app."""
    app = document(
        [
            {"name": "j", "from": "a", "joinTable": {"table": "t", "on": "k", "type": "left"}},
            {"name": "o", "from": "j", "sendTo": "out"},
        ],
        streams={"a": {"schema": "k string, v int"}, "s": {"schema": "k string, w int", "key": "k"}, "out": {}},
        tables={"t": {"key": "k", "sideInputs": ["s"]}},
        job={"grouper": "all"},
    )
    assert found(app, {"a": 2, "s": 2}) == {("GrouperUnsupported", "spec.job.grouper")}


def test_a_key_that_is_no_column_is_one_problem_with_the_name_that_was_meant():
    app = then(
        {"name": "p", "partitionBy": {"key": "kk"}},
        {"name": "j", "join": JOIN},
        {"name": "g", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
    )
    (problem,) = planned(app).problems
    assert (problem.code, problem.path) == ("UnknownColumn", "spec.operators[0].partitionBy.key")
    assert "did you mean `k`?" in problem.message
