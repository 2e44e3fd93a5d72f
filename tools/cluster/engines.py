"""Container engines: they hold the nodes of clusters."""

import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.cluster.errors import ClusterError
from tools.cluster.podman import Podman
from tools.cluster.process import attempt, run

_ANSWER_SECONDS = 60
_REMOVALS = 5
_MAKING_SECONDS = 60
_LABEL = "io.x-k8s.kind.cluster"


def is_node(name: str, cluster: str) -> bool:
    """Return whether a node of that name, as kind gives them, is one of this cluster."""
    return re.fullmatch(rf"{re.escape(cluster)}-(control-plane|worker)\d*", name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A container engine that holds nodes: docker, or podman with its own store or with that of the cache."""

    program: str
    environment: Mapping[str, str] = field(default_factory=dict)
    own_store: Podman | None = None

    @property
    def name(self) -> str:
        """The name for the user."""
        return "self-built nodes" if self.own_store else self.program

    def network_name(self, cluster: str) -> str:
        """Return the name of the network that only this cluster uses; all stores of a machine share one name server."""
        return f"kind-{cluster}-{self.own_store.name}" if self.own_store else f"kind-{cluster}"

    def run(self, *arguments: str, timeout: float = 600) -> str:
        """Run a command of the engine and give its output.

        Raises:
            ClusterError: it failed.
        """
        return run([self.program, *arguments], env=self.environment, timeout=timeout)

    def answers(self) -> bool:
        """Return whether the engine works."""
        return attempt([self.program, "info"], env=self.environment, timeout=_ANSWER_SECONDS).returncode == 0

    def nodes(self, cluster: str) -> list[str]:
        """Return the names of a cluster's nodes, running or not."""
        wanted = ["--filter", f"label={_LABEL}={cluster}", "--format", "{{.Names}}"]
        return sorted(self.run("ps", "--all", *wanted).split())

    def volumes(self, cluster: str) -> list[str]:
        """Return the names of the volumes of a cluster's nodes, be the nodes there or not; docker's have no names."""
        if self.program == "docker":
            return []
        found = json.loads(self.run("volume", "ls", "--format", "json"))
        return [volume["Name"] for volume in found if any(is_node(label, cluster) for label in volume["Labels"] or ())]

    def networks(self, cluster: str) -> list[str]:
        """Return the name of the cluster's network, if it is there."""
        names = self.run("network", "ls", "--format", "{{.Name}}").split()
        return [name for name in names if name == self.network_name(cluster)]

    def remove(self, cluster: str) -> None:
        """Remove a cluster's nodes, volumes and network, or what there is of them.

        What an interrupted kind has begun comes to its end first: nodes must not appear after this.

        Raises:
            ClusterError: something could not be removed.
        """
        deadline = time.monotonic() + _MAKING_SECONDS
        while _nodes_are_made(cluster) and time.monotonic() < deadline:
            time.sleep(0.1)
        for left in reversed(range(_REMOVALS)):
            try:
                self._remove(cluster)
            except ClusterError:
                if not left:
                    raise
                time.sleep(1)
            else:
                return

    def _remove(self, cluster: str) -> None:
        nodes = self.nodes(cluster)
        if nodes:
            attempt([self.program, "kill", *nodes], env=self.environment)  # else systemd takes its time to end
            self.run("rm", "--force", "--volumes", *nodes)
        for volume in self.volumes(cluster):
            self.run("volume", "rm", "--force", volume)
        for network in self.networks(cluster):
            if self.own_store:
                self.own_store.remove_network(network)
            else:
                self.run("network", "rm", network)
        if self.own_store:
            self.own_store.rest()


def _nodes_are_made(cluster: str) -> bool:
    """Return whether kind, or what it has started, is at work on a cluster's nodes."""
    label = f"{_LABEL}={cluster}".encode()
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            program, *arguments = command.read_bytes().split(b"\0")
            if Path(program.decode()).name in {"docker", "podman"} and arguments[:1] == [b"run"] and label in arguments:
                return True
    return False


def engines_here(cache: Path) -> Iterator[Engine]:
    """Return every engine that may hold nodes."""
    for engine in (Engine(program="docker"), Engine(program="podman")):
        if shutil.which(engine.program) and engine.answers():
            yield engine
    podman = Podman(cache)
    if shutil.which("podman") and podman.exists():
        yield own_engine(podman)


def own_engine(podman: Podman) -> Engine:
    """Return the engine of a cache's own store."""
    return Engine(program="podman", environment=podman.environment, own_store=podman)
