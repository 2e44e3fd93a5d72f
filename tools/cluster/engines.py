"""Container engines: they hold the nodes of clusters."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.cluster.podman import Podman
from tools.cluster.process import attempt, run

_ANSWER_SECONDS = 60
_LABEL = "io.x-k8s.kind.cluster"


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

    def run(self, *arguments: str, timeout: float = 600) -> str:
        """Run a command of the engine and give its output.

        Raises:
            ClusterError: it failed.
        """
        return run([self.program, *arguments], env=self.environment, timeout=timeout)

    def answers(self) -> bool:
        """Say whether the engine works."""
        return attempt([self.program, "info"], env=self.environment, timeout=_ANSWER_SECONDS).returncode == 0

    def nodes(self, cluster: str) -> list[str]:
        """Give the names of a cluster's nodes, running or not."""
        wanted = ["--filter", f"label={_LABEL}={cluster}", "--format", "{{.Names}}"]
        return sorted(self.run("ps", "--all", *wanted).split())


def engines_here(cache: Path) -> Iterator[Engine]:
    """Give every engine that may hold nodes."""
    for engine in (Engine(program="docker"), Engine(program="podman")):
        if shutil.which(engine.program) and engine.answers():
            yield engine
    podman = Podman(cache)
    if shutil.which("podman") and podman.exists():
        yield own_engine(podman)


def own_engine(podman: Podman) -> Engine:
    """Give the engine of a cache's own store."""
    return Engine(program="podman", environment=podman.environment, own_store=podman)
