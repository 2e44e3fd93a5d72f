import networkx
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.graph.components import components

graphs = st.integers(1, 12).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size)
)


@given(graphs)
def test_components_are_those_of_networkx(predecessors):
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(predecessors)))
    graph.add_edges_from((before, node) for node, befores in enumerate(predecessors) for before in befores)
    expected = {frozenset(group) for group in networkx.strongly_connected_components(graph)}
    assert {frozenset(group) for group in components(predecessors)} == expected


@given(graphs)
def test_what_comes_before_stands_first(predecessors):
    position = {node: at for at, group in enumerate(components(predecessors)) for node in group}
    assert all(position[before] <= position[node] for node, befores in enumerate(predecessors) for before in befores)


def test_long_chains_do_not_recurse():
    size = 20_000
    assert len(components([[]] + [[node] for node in range(size - 1)])) == size
    assert len(components([[(node + 1) % size] for node in range(size)])) == 1
