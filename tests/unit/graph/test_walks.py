from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.graph import build_graph, feeding_streams, reaching_streams
from streamapp_core.spec.parse import parse_document
from support.plan_documents import document


def graph_of(operators, **fields):
    return build_graph(parse_document(document(operators, **fields)).app.spec)


def test_a_walk_ends_at_intermediate_streams():
    graph = graph_of(
        [
            {"name": "p", "from": "a", "partitionBy": {"key": "k"}},
            {"name": "m", "from": ["p", "b"], "merge": {}},
            {"name": "q", "from": "m", "broadcast": {}},
            {"name": "o", "from": "q", "sendTo": "out"},
        ],
        streams={"a": "k string", "b": "k string", "out": {}},
    )
    assert feeding_streams(graph) == {"p": {"a"}, "q": {"p", "b"}}
    assert reaching_streams(graph)["o"] == {"q"}


def test_a_walk_does_not_go_through_tables():
    graph = graph_of(
        [
            {"name": "fill", "from": "a", "sendToTable": "t"},
            {"name": "look", "from": "b", "joinTable": {"table": "t", "on": "k"}},
            {"name": "p", "from": "look", "partitionBy": {"key": "k"}},
            {"name": "o", "from": "p", "sendTo": "out"},
        ],
        streams={"a": "k string", "b": "k string", "out": {}},
        tables={"t": {"key": "k", "schema": "k string"}},
    )
    assert feeding_streams(graph) == {"p": {"b"}}


@given(st.data(), st.integers(1, 12))
def test_each_input_of_an_operator_is_reached_by_the_streams_that_reach_it(data, size):
    names, operators = ["a", "b"], []
    for number in range(size):
        inputs = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        cut = len(inputs) == 1 and data.draw(st.booleans())
        operators.append(
            {"name": f"o{number}", "from": inputs, **({"partitionBy": {"key": "k"}} if cut else {"merge": {}})}
        )
        names.append(f"o{number}")
    spec_of = {operator["name"]: operator for operator in operators}

    def paths(name):
        if name not in spec_of or "partitionBy" in spec_of[name]:
            return {name}
        return set().union(*(paths(input_) for input_ in spec_of[name]["from"]))

    shuffled = data.draw(st.permutations(operators))
    reaching = reaching_streams(graph_of(shuffled, streams={"a": "k string", "b": "k string"}))
    for name, operator in spec_of.items():
        assert reaching[name] == set().union(*(paths(input_) for input_ in operator["from"]))
