"""The check of a machine for tests on Kubernetes: what it lacks, why they need it, and what to install."""

import os
import shutil
from dataclasses import dataclass

from tools.cluster.podman import missing_packages
from tools.cluster.ways import published_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that is not here, the tests that need it, and what to do."""

    what: str
    why: str
    install: str

    def __str__(self) -> str:
        return f"{self.what} is missing ({self.why}): {self.install}"


def missing() -> tuple[Missing, ...]:
    """Return what keeps clusters from being made here; nothing if all is there or installable without questions."""
    lacking = missing_for_light()
    packages = missing_packages()
    if os.geteuid() == 0 and (not packages or shutil.which("apt-get")):
        return lacking
    way, reasons = published_way()
    if way:
        return lacking
    what, why = "a container engine with kind's node image", f"a cluster's nodes are containers; {reasons}"
    install = "start docker where images can be pulled, or be root on Debian"
    if os.geteuid() == 0:
        install = f"start docker where images can be pulled, or install {' '.join(packages)}"
    return (*lacking, Missing(what=what, why=why, install=install))


def missing_for_light() -> tuple[Missing, ...]:
    """Return what keeps an API server from running here as a plain process."""
    go = Missing(
        what="Go",
        why="Kubernetes' programs are built from Go modules",
        install="install Go 1.24 or newer and put it on the PATH",
    )
    openssl = Missing(what="openssl", why="the API server signs with a key that it makes", install="install openssl")
    return tuple(item for program, item in (("go", go), ("openssl", openssl)) if not shutil.which(program))
