"""A cluster that runs: its API through kubectl, its nodes through the engine that holds them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.cluster.engines import Engine
from tools.cluster.errors import ClusterError
from tools.cluster.kind import run_kind
from tools.cluster.process import attempt, run

_READY_SECONDS = 180
_SYSTEM = (
    ("kube-system", "daemonset/kindnet"),
    ("kube-system", "daemonset/kube-proxy"),
    ("kube-system", "deployment/coredns"),
    ("local-path-storage", "deployment/local-path-provisioner"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster that runs. `engine` holds its nodes; it is None for a cluster that the user has given.

    What kubectl and helm learn of the API is kept in `api_cache`, which goes with the cluster; None leaves it to them.
    """

    name: str
    kubeconfig: Path
    programs: Path
    engine: Engine | None = None
    api_cache: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of programs that use the cluster."""
        cached = {"KUBECACHEDIR": str(self.api_cache)} if self.api_cache else {}
        return {"KUBECONFIG": str(self.kubeconfig), **cached}

    def kubectl(self, *arguments: str, text: str | None = None, timeout: float = 120) -> str:
        """Run kubectl and give its output; `text` is its standard input.

        Raises:
            ClusterError: it failed.
        """
        return run([self.programs / "kubectl", *arguments], env=self.environment, text=text, timeout=timeout)

    def get(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Return what `kubectl get` finds: an object, or a list of objects."""
        found = json.loads(self.kubectl("get", "--output", "json", *arguments))
        return found["items"] if found["kind"].endswith("List") else found

    def load_image(self, archive: Path) -> None:
        """Load the images of an archive (OCI or docker) on every node. Layers that nodes have need not be in it.

        Raises:
            ClusterError: a node did not take it, or the nodes are not ours.
        """
        run_kind(self._engine(), self.programs, self.name, "load", "image-archive", str(archive), "--name", self.name)

    def kill_node(self, node: str) -> None:
        """End a node at once, as a power cut would."""
        self._engine().run("kill", node)

    def start_node(self, node: str) -> None:
        """Start a node that was killed, and wait until it can run pods again. It may have a new address."""
        self._engine().run("start", node)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until all nodes are Ready and what pods need of the cluster itself runs.

        Raises:
            ClusterError: it took too long.
        """
        limit = f"--timeout={_READY_SECONDS}s"
        self.kubectl("wait", "node", "--all", "--for=condition=Ready", limit, timeout=2 * _READY_SECONDS)
        for namespace, workload in _SYSTEM:
            here = f"--namespace={namespace}"
            self.kubectl("rollout", "status", here, workload, limit, timeout=2 * _READY_SECONDS)

    def is_ready(self) -> bool:
        """Return whether the API answers and all nodes are Ready."""
        wanted = 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}'
        ask = ["get", "nodes", "--output", wanted, "--request-timeout=10s"]
        done = attempt([self.programs / "kubectl", *ask], env=self.environment)
        states = done.stdout.split()
        return done.returncode == 0 and bool(states) and set(states) == {"True"}

    def _engine(self) -> Engine:
        if self.engine is None:
            raise ClusterError(f"the nodes of the cluster in {self.kubeconfig} are not ours to change")
        return self.engine
