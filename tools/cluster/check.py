"""Says what this machine lacks for tests on Kubernetes, why they need it, and what to install."""

import os
import shutil
from dataclasses import dataclass

from tools.cluster.engines import Engine
from tools.cluster.podman import missing_packages


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that is not here, the tests that need it, and what to do."""

    what: str
    why: str
    install: str


def missing() -> tuple[Missing, ...]:
    """Say what keeps clusters from being made here; nothing when all is there or can be installed without questions."""
    lacking = [*missing_for_light()]
    if any(shutil.which(program) and Engine(program=program).answers() for program in ("docker", "podman")):
        return tuple(lacking)
    why = "a cluster's nodes are containers"
    if os.geteuid() != 0:
        lacking.append(
            Missing(what="a container engine", why=why, install="install docker and start it, or run as root on Debian")
        )
    elif missing_packages() and not shutil.which("apt-get"):
        packages = " ".join(missing_packages())
        lacking.append(Missing(what="podman", why=why, install=f"install {packages}, or docker"))
    return tuple(lacking)


def missing_for_light() -> tuple[Missing, ...]:
    """Say what keeps an API server from running here as a plain process."""
    if shutil.which("go"):
        return ()
    return (
        Missing(
            what="Go",
            why="Kubernetes' programs are built from Go modules",
            install="install Go 1.24 or newer and put it on the PATH",
        ),
    )
