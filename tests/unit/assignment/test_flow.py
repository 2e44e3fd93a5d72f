"""The flow is the largest there is, and the cheapest of its size."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.assignment.minimum_cost_flow import Network

NODES = 6
ARCS = st.lists(
    st.tuples(st.integers(0, NODES - 2), st.integers(1, NODES - 1), st.integers(0, 9), st.integers(-5, 5)).filter(
        lambda arc: arc[0] < arc[1]  # without cycles
    ),
    max_size=15,
)


@given(ARCS)
def test_networkx_finds_no_larger_and_no_cheaper_flow(arcs):
    network, reference = Network(NODES), nx.MultiDiGraph()
    reference.add_nodes_from(range(NODES))
    for tail, head, capacity, cost in arcs:
        network.add(tail, head, capacity=capacity, cost=cost)
        reference.add_edge(tail, head, capacity=capacity, weight=cost)

    flows = network.cheapest_flow(0, NODES - 1)

    for node in range(1, NODES - 1):
        assert balance(node, arcs, flows) == 0
    assert all(0 <= flow <= capacity for flow, (_, _, capacity, _) in zip(flows, arcs, strict=True))
    size = balance(NODES - 1, arcs, flows)
    assert size == largest_flow(arcs)
    reference.nodes[0]["demand"], reference.nodes[NODES - 1]["demand"] = -size, size
    assert sum(flow * arc[3] for flow, arc in zip(flows, arcs, strict=True)) == nx.min_cost_flow_cost(reference)


def balance(node, arcs, flows):
    return sum(flow * ((head == node) - (tail == node)) for flow, (tail, head, _, _) in zip(flows, arcs, strict=True))


def largest_flow(arcs):
    simple = nx.DiGraph()
    simple.add_nodes_from(range(NODES))
    for tail, head, capacity, _ in arcs:
        before = simple.edges[tail, head]["capacity"] if simple.has_edge(tail, head) else 0
        simple.add_edge(tail, head, capacity=before + capacity)
    return nx.maximum_flow_value(simple, 0, NODES - 1)
