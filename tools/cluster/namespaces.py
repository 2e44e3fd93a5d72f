"""Namespaces of tests: made for one test, found again when a run was cut short, and saved when a test fails."""

import contextlib
import json
import re
import secrets
from pathlib import Path
from typing import Literal

from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError

PodSecurity = Literal["restricted", "baseline", "privileged"]

_LABEL = "streamapp.dev/test"
_LONGEST = 40


def make_namespace(cluster: Cluster, test: str, pod_security: PodSecurity = "restricted") -> str:
    """Make a namespace named after a test; pods that break its Pod Security level are refused."""
    words = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")
    name = f"{words[:_LONGEST].rstrip('-')}-{secrets.token_hex(3)}"
    labels = {_LABEL: "true", "pod-security.kubernetes.io/enforce": pod_security}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    cluster.kubectl("create", "--filename=-", text=json.dumps(namespace))
    return name


def remove_namespace(cluster: Cluster, name: str, *, wait: bool = False) -> None:
    """Remove a namespace with all it holds, or begin to."""
    cluster.kubectl("delete", "namespace", name, f"--wait={str(wait).lower()}", "--ignore-not-found")


def test_namespaces(cluster: Cluster) -> list[str]:
    """Name the namespaces of tests, of this run or of one that was cut short."""
    return [entry["metadata"]["name"] for entry in cluster.get("namespaces", f"--selector={_LABEL}")]


def save_namespace(cluster: Cluster, namespace: str, folder: Path) -> None:
    """Write what explains a failure: each container's log, the events, the pods and the StreamApps."""
    folder.mkdir(parents=True, exist_ok=True)
    here = f"--namespace={namespace}"
    _save(cluster, folder / "events.txt", "get", "events", here, "--sort-by=.lastTimestamp")
    _save(cluster, folder / "pods.txt", "describe", "pods", here)
    _save(cluster, folder / "streamapps.yaml", "get", "streamapps.streamapp.dev", here, "--output=yaml")
    for pod in cluster.get("pods", here):
        name = pod["metadata"]["name"]
        states = pod["status"]
        for status in (*states.get("initContainerStatuses", ()), *states.get("containerStatuses", ())):
            wanted = ["logs", here, name, f"--container={status['name']}"]
            _save(cluster, folder / f"{name}.{status['name']}.log", *wanted)
            if status["restartCount"]:
                _save(cluster, folder / f"{name}.{status['name']}.previous.log", *wanted, "--previous")


def _save(cluster: Cluster, file: Path, *command: str) -> None:
    text = ""
    with contextlib.suppress(ClusterError):  # a part that is not there must not hide the others
        text = cluster.kubectl(*command)
    if text:
        file.write_text(text)
