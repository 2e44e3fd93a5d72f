"""The lowest layers of self-made images: Debian with Python, and Java above it, from Debian's packages alone.

It needs root (debootstrap does) and no image registry.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.cluster.cached import kept, key_of
from tools.cluster.errors import ClusterError
from tools.cluster.process import run
from tools.cluster.versions import VERSIONS
from tools.debian_package import install_command
from tools.images.archive import Layer
from tools.images.layers import added, read_layer, tree_state, write_layer

USER = 10001
PYTHON_PACKAGES = ("ca-certificates", "python3", "tini")
JAVA_PACKAGES = (VERSIONS.debian.java,)

_ACCOUNTS = {
    "etc/passwd": f"streamapp:x:{USER}:{USER}:StreamApp:/tmp:/usr/sbin/nologin\n",
    "etc/group": f"streamapp:x:{USER}:\n",
}
_STEPS = "1"
"""Changes with the way these layers are made."""


def debian_key() -> str:
    """Return the key of both layers."""
    return key_of(VERSIONS.debian.release, *PYTHON_PACKAGES, "/", *JAVA_PACKAGES, _STEPS)


def debian_layers(cache: Path) -> tuple[Layer, Layer]:
    """Return the layers (Debian with Python, Java), making them if they are not in the cache.

    Raises:
        ClusterError: not root, no debootstrap, or the packages can't be had.
    """
    folder = kept(cache, f"image-debian-{debian_key()}", _build, what="making the images' Debian, Python and Java")
    return read_layer(folder / "python"), read_layer(folder / "java")


def debian_tree(tree: Path, packages: Sequence[str]) -> None:
    """Make a folder with Debian, these packages and what they need, with all security updates.

    Raises:
        ClusterError: not root, no debootstrap, or the packages can't be had.
    """
    if os.geteuid() != 0:
        raise ClusterError("images are made from Debian packages by root only (debootstrap)")
    if not shutil.which("debootstrap"):
        run(install_command("debootstrap"))
    sources = _sources()
    mirror = [sources[0].split()[1]] if sources else []
    include = f"--include={','.join(packages)}"
    run(["debootstrap", "--variant=minbase", include, VERSIONS.debian.release, tree, *mirror])
    if sources:
        (tree / "etc/apt/sources.list").write_text("".join(f"{line}\n" for line in sources))
    _apt(tree, "update")
    _apt(tree, "upgrade")


def in_tree(tree: Path, command: Sequence[str]) -> str:
    """Run a command with a tree as its root, and give what it prints.

    /proc and /dev are mounted for the command alone; it and all processes it has started end with the command.
    """
    shutil.copy("/etc/resolv.conf", tree / "etc/resolv.conf")
    script = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
    environment = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    own = ["--mount", "--pid", "--fork", "--kill-child"]
    return run(["unshare", *own, "/bin/sh", "-c", script, tree, *environment, *command])


def _build(work: Path) -> None:
    tree = work / "tree"
    debian_tree(tree, PYTHON_PACKAGES)
    for name, line in _ACCOUNTS.items():
        with (tree / name).open("a") as file:
            file.write(line)
    (tree / "app").mkdir()
    # The time of each file will be 1970, which no compiled module made by the packages agrees with.
    compiled = ["-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "/usr/lib/python3.11"]
    in_tree(tree, ["python3", *compiled])
    before = tree_state(tree)
    _write(work / "python", tree, sorted(before))
    _apt(tree, "install", *JAVA_PACKAGES)
    _write(work / "java", tree, added(before, tree_state(tree)))
    shutil.rmtree(tree)


def _write(into: Path, tree: Path, paths: Sequence[str]) -> None:
    into.mkdir()
    write_layer(into, tree, paths)


def _sources() -> list[str]:
    """Return apt's source lines of this release as this machine has them; none if it runs another one."""
    if not shutil.which("apt-get"):
        return []
    wanted = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
    found = run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"])
    release = VERSIONS.debian.release
    lines = set()
    for line in found.splitlines():
        address, suite, component, origin = line.split("|")
        if origin == "Debian" and suite in {release, f"{release}-updates", f"{release}-security"}:
            lines.add((suite != release, f"deb {address} {suite} {component}"))
    return [line for _, line in sorted(lines)]


def _apt(tree: Path, *arguments: str) -> None:
    in_tree(tree, ["apt-get", "-qq", "-y", "--no-install-recommends", *arguments])
