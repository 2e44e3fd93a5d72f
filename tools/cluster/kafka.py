"""Kafka in a cluster, for end-to-end tests and demos."""

import json
from dataclasses import dataclass

from tools.cluster.cluster import Cluster
from tools.kafka.manifests import NODE_PORT, kafka_manifests

_READY_SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterKafka:
    """A Kafka node: its addresses for pods, and for programs of this machine."""

    inside: str
    outside: str


def deploy_kafka(cluster: Cluster, namespace: str, image: str, *, node_port: int = NODE_PORT) -> ClusterKafka:
    """Run Kafka in a namespace, and wait until it is ready.

    Raises:
        ClusterError: it does not become ready.
    """
    here = f"--namespace={namespace}"
    documents = {"apiVersion": "v1", "kind": "List", "items": kafka_manifests(image, node_port=node_port)}
    cluster.kubectl("apply", here, "--filename=-", text=json.dumps(documents))
    waiting = ["rollout", "status", here, "statefulset/kafka", f"--timeout={_READY_SECONDS}s"]
    cluster.kubectl(*waiting, timeout=_READY_SECONDS + 10)
    for state in ("create", "condition=Ready"):  # a pod that has just gone may be missed by the StatefulSet
        limits = [f"--for={state}", f"--timeout={_READY_SECONDS}s"]
        cluster.kubectl("wait", here, "pod/kafka-0", *limits, timeout=_READY_SECONDS + 10)
    node = cluster.get("pod", here, "kafka-0")["status"]["hostIP"]
    return ClusterKafka(inside=f"kafka.{namespace}.svc:9092", outside=f"{node}:{node_port}")
