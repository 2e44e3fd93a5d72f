import pytest

from streamapp_core.graph import build_graph, check_graph
from streamapp_core.spec.parse import parse_document
from support.plan_documents import document

STREAMS = {"in": "k string", "out": {}}
SINK = {"name": "o", "from": "f", "sendTo": "out"}


def problems(operators, *, streams=STREAMS, **fields):
    parsed = parse_document(document(operators, streams=streams, **fields))
    return list(check_graph(build_graph(parsed.app.spec, parsed.broken)))


def codes(operators, **fields):
    return sorted((problem.code, problem.path) for problem in problems(operators, **fields))


def test_a_right_graph_has_no_problems():
    assert codes([{"name": "f", "from": "in", "filter": "true"}, SINK]) == []


def test_an_unknown_name_is_told_what_it_may_have_meant():
    (problem,) = problems(
        [
            {"name": "late", "from": "in", "filter": "true"},
            {"name": "o", "from": "lates", "sendTo": "out"},
            {"name": "p", "from": "late", "sendTo": "out"},
        ]
    )
    assert (problem.code, problem.path) == ("UnknownStream", "spec.operators[1].from")
    assert "did you mean `late`?" in problem.message


def test_an_unknown_name_in_a_list_is_pointed_at():
    operators = [{"name": "f", "from": ["in", "nowhere"], "merge": {}}, SINK]
    assert codes(operators) == [("UnknownStream", "spec.operators[0].from[1]")]


def test_reading_a_table_as_a_stream_is_told_about_join_table():
    operators = [
        {"name": "f", "from": "in", "joinTable": {"table": "t", "on": "k"}},
        SINK,
        {"name": "p", "from": "t", "sendTo": "out"},
    ]
    (problem,) = problems(
        operators, streams={**STREAMS, "side": "k string"}, tables={"t": {"key": "k", "sideInputs": ["side"]}}
    )
    assert problem.code == "UnknownStream"
    assert "joinTable" in problem.message


def test_sending_to_an_operator_is_no_stream():
    operators = [{"name": "f", "from": "in", "filter": "true"}, {"name": "o", "from": "f", "sendTo": "f"}]
    assert ("UnknownStream", "spec.operators[1].sendTo") in codes(operators)


def test_a_cycle_is_printed_as_the_shortest_way_round():
    operators = [
        {"name": "a", "from": ["in", "c", "b"], "merge": {}},
        {"name": "b", "from": "a", "filter": "true"},
        {"name": "c", "from": "b", "filter": "true"},
        {"name": "o", "from": "c", "sendTo": "out"},
    ]
    (problem,) = problems(operators)
    assert problem.code == "Cycle"
    assert "`a` -> `b` -> `a`" in problem.message


def test_every_cycle_is_reported():
    operators = [
        {"name": "a", "from": ["in", "a"], "merge": {}},
        {"name": "b", "from": ["a", "b"], "merge": {}},
        {"name": "o", "from": "b", "sendTo": "out"},
    ]
    assert [code for code, _ in codes(operators)] == ["Cycle", "Cycle"]


def test_files_are_not_written_where_others_are_read():
    files = {"system": "files", "format": "csv"}
    streams = {"in": files | {"name": "orders", "schema": "k string"}, "out": files | {"name": "orders"}}
    systems = {"files": {"file": {"path": "."}}}
    operators = [{"name": "f", "from": "in", "filter": "true"}, SINK]
    given = {"systems": systems, "defaultSystem": "files"}
    assert codes(operators, streams=streams, **given) == [("OutputReadBack", "spec.streams.out")]
    streams["out"]["name"] = "large"
    assert codes(operators, streams=streams, **given) == []


def test_an_output_as_a_side_input_is_read_back():
    operators = [{"name": "f", "from": "in", "joinTable": {"table": "t", "on": "k"}}, SINK]
    tables = {"t": {"key": "k", "schema": "k string", "sideInputs": ["out"]}}
    assert codes(operators, tables=tables) == [("OutputReadBack", "spec.tables.t.sideInputs[0]")]


def test_a_table_has_one_way_to_be_filled():
    operators = [
        {"name": "f", "from": "in", "joinTable": {"table": "t", "on": "k"}},
        SINK,
        {"name": "fill", "from": "in", "sendToTable": "t"},
    ]
    tables = {"t": {"key": "k", "sideInputs": ["side"]}}
    assert codes(operators, streams={**STREAMS, "side": "k string"}, tables=tables) == [
        ("TableFilledTwice", "spec.tables.t")
    ]


def test_an_unknown_default_system_is_reported():
    operators = [{"name": "f", "from": "in", "filter": "true"}, SINK]
    assert codes(operators, defaultSystem="lag") == [("UnknownSystem", "spec.defaultSystem")]


@pytest.mark.parametrize(
    "broken",
    [
        {"name": "bad", "from": "in", "filtr": "true"},
        {"name": "bad", "from": 7, "sendTo": "lost"},
    ],
)
def test_nothing_is_concluded_from_a_broken_operator(broken):
    operators = [
        {"name": "f", "from": "bad", "filter": "nonsense > 1"},
        {"name": "unread", "from": "in", "filter": "true"},
        SINK,
        broken,
    ]
    streams = {**STREAMS, "lost": "k string"}
    tables = {"t": {"key": "k", "schema": "k string"}}
    assert codes(operators, streams=streams, tables=tables) == []


def test_a_broken_stream_does_not_hide_unused_ones():
    operators = [{"name": "f", "from": "bad", "filter": "true"}, SINK]
    streams = {**STREAMS, "bad": {"schema": "k string", "fromat": "json", "system": 3}, "spare": "k string"}
    assert codes(operators, streams=streams) == [
        ("UnusedStream", "spec.streams.in"),
        ("UnusedStream", "spec.streams.spare"),
    ]


def test_of_two_operators_with_one_name_nothing_is_concluded():
    operators = [
        {"name": "f", "from": "in", "filter": "true"},
        {"name": "f", "from": "other", "filter": "true"},
        SINK,
    ]
    assert codes(operators, streams={**STREAMS, "other": "k string"}) == []


def test_the_order_of_operators_does_not_depend_on_the_order_they_are_written_in():
    operators = [{"name": name, "from": "in", "filter": "true"} for name in "cab"]
    one, other = (
        list(build_graph(parse_document(document(list_, streams=STREAMS)).app.spec).operators)
        for list_ in (operators, operators[::-1])
    )
    assert one == other
