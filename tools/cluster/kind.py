"""Runs kind, and says what it is asked for: the nodes of a cluster, and how quickly it sees that one is lost."""

import json
import os
from pathlib import Path
from typing import Any

from tools.cluster.engines import Engine
from tools.cluster.process import run

_GRACE, _REPORT, _TOLERATION = "12s", "3s", "5"


def run_kind(engine: Engine, programs: Path, cluster: str, *arguments: str, text: str | None = None) -> str:
    """Run a command of kind on a cluster; `text` is its standard input.

    Raises:
        ClusterError: it failed.
    """
    environment = {
        **engine.environment,
        "KIND_EXPERIMENTAL_PROVIDER": engine.program,
        f"KIND_EXPERIMENTAL_{engine.program.upper()}_NETWORK": engine.network_name(cluster),
        "KIND_CLUSTER_NAME": cluster,
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    return run([programs / "kind", *arguments], env=environment, text=text, timeout=600)


def kind_config(*, workers: int, repository: str | None) -> str:
    """Write kind's configuration as JSON: one control plane and some workers.

    A node that is lost is NotReady after 15 s and its pods are replaced after 20 s, instead of after 5 minutes. etcd
    does not wait for the disk: a cluster does not outlive its machine.

    Args:
        workers: how many.
        repository: where kubeadm finds its images; none for those of the published node image.
    """
    cluster: dict[str, Any] = {
        "kind": "ClusterConfiguration",
        "etcd": {"local": {"extraArgs": {"unsafe-no-fsync": "true"}}},
        "controllerManager": {"extraArgs": {"node-monitor-grace-period": _GRACE}},
        "apiServer": {
            "extraArgs": {
                "default-not-ready-toleration-seconds": _TOLERATION,
                "default-unreachable-toleration-seconds": _TOLERATION,
            }
        },
    }
    if repository:
        cluster["imageRepository"] = repository
    kubelet = {"kind": "KubeletConfiguration", "nodeStatusUpdateFrequency": _REPORT}
    return json.dumps(
        {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))],
            "kubeadmConfigPatches": [json.dumps(cluster), json.dumps(kubelet)],
        }
    )
