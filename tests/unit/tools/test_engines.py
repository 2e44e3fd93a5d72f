import pytest
from tools.cluster.engines import is_node


@pytest.mark.parametrize("name", ["it-control-plane", "it-worker", "it-worker2", "it-control-plane3"])
def test_a_cluster_s_nodes_are_known_by_their_names(name):
    assert is_node(name, "it")


@pytest.mark.parametrize("name", ["it-other-worker", "it", "its-worker", "it-worker-2", "true"])
def test_a_cluster_whose_name_begins_alike_is_another_one(name):
    assert not is_node(name, "it")
