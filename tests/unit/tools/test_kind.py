import json

from tools.cluster.kind import kind_config


def test_a_cluster_has_one_control_plane_and_the_workers_asked_for():
    roles = [node["role"] for node in json.loads(kind_config(workers=3, repository=None))["nodes"]]
    assert roles == ["control-plane", "worker", "worker", "worker"]


def test_only_self_built_nodes_name_where_their_images_are():
    def cluster(repository):
        patches = json.loads(kind_config(workers=1, repository=repository))["kubeadmConfigPatches"]
        return next(patch for patch in map(json.loads, patches) if patch["kind"] == "ClusterConfiguration")

    assert cluster("localhost/kube")["imageRepository"] == "localhost/kube"
    assert "imageRepository" not in cluster(None)
