"""The flights example on Kubernetes is the one on Kafka: its broker, its name and its image differ, nothing else."""

import yaml

from support import flights


def read(name):
    return yaml.safe_load((flights.EXAMPLE / name).read_text())


def test_the_app_for_kubernetes_has_the_graph_of_the_one_for_kafka():
    here, there = (read(name) for name in ("app-kafka.yaml", "app-kubernetes.yaml"))
    assert there["spec"].keys() - here["spec"].keys() == {"image"}
    different = {part for part in here["spec"] if here["spec"][part] != there["spec"][part]}
    assert different == {"systems"}
