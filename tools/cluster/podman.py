"""A podman of our own: its settings, images and networks are in the cache, apart from whatever podman the user has.

The settings are what a machine needs where containers may not raise limits, systemd is not running, and cgroups are of
version 1 or both; they do no harm elsewhere.
"""

import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tools.cluster.errors import ClusterError
from tools.cluster.process import attempt, run, say
from tools.debian_package import install_command

_PROGRAMS = {
    "podman": "podman",
    "runc": "runc",
    "conmon": "conmon",
    "iptables": "iptables",
    "debootstrap": "debootstrap",
}
_FILES = {
    "/usr/lib/podman/netavark": "netavark",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
}
_CONTAINERS = """
[containers]
default_ulimits = []
log_driver = "k8s-file"
pids_limit = 0

[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{state}/libpod"

[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
_STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{state}/storage"
"""
_NETWORKS = Path("/run/netns")
_NAME_SERVER = Path("/run/containers/networks/aardvark-dns")
_NEW_SECONDS = 60
_INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
_INOTIFY_INSTANCES = 8192


class Podman:
    """Runs podman on the store of a cache; no two stores have the same name."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache.resolve() / "podman"
        self.name = hashlib.sha256(str(self._folder).encode()).hexdigest()[:8]
        self._state = Path(f"/run/streamapp-{self.name}")
        self.environment = {
            "CONTAINERS_CONF": str(self._folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self._folder / "storage.conf"),
        }

    def exists(self) -> bool:
        """Return whether this store has ever been used."""
        return (self._folder / "storage.conf").exists()

    def prepare(self) -> None:
        """Make this machine able to run nodes: packages, settings, limits.

        Raises:
            ClusterError: not root, or podman can't be installed.
        """
        if os.geteuid() != 0:
            raise ClusterError("nodes of self-made images need root: run as root, or use docker with an image registry")
        packages = missing_packages()
        if packages:
            _install(packages)
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("containers.conf", _CONTAINERS), ("storage.conf", _STORAGE)):
            (self._folder / name).write_text(text.format(folder=self._folder, state=self._state))
        Path("/lib/modules").mkdir(exist_ok=True)  # kind mounts it
        if int(_INOTIFY.read_text()) < _INOTIFY_INSTANCES:
            _INOTIFY.write_text(str(_INOTIFY_INSTANCES))

    def run(self, *arguments: str, timeout: float = 600) -> str:
        """Run a podman command and give its output.

        Raises:
            ClusterError: it failed.
        """
        return run(["podman", *arguments], env=self.environment, timeout=timeout)

    def has_image(self, name: str) -> bool:
        """Return whether the store has an image."""
        return attempt(["podman", "image", "exists", name], env=self.environment).returncode == 0

    def import_image(self, tree: Path, name: str, description: Sequence[str]) -> None:
        """Make an image of one layer from a tree of files; `description` is in the words of a Dockerfile."""
        changes = " ".join(f"--change {shlex.quote(line)}" for line in description)
        pipe = f'set -o pipefail; tar -C "$0" -c . | podman import --quiet {changes} - "$1"'
        run(["/bin/bash", "-c", pipe, tree, name], env=self.environment)

    def forget_images(self, repository: str, *, but: int) -> None:
        """Remove a repository's images but the newest; those in use stay."""
        names = self.run("image", "ls", "--sort=created", "--format={{.Repository}}:{{.Tag}}", repository).split()
        for name in names[but:]:
            attempt(["podman", "image", "rm", name], env=self.environment)

    def remove_network(self, network: str) -> None:
        """Remove a network, with what stays of it where podman was killed while it made containers.

        The name server would keep the addresses of that network for the next one of that name.

        Raises:
            ClusterError: it could not be removed.
        """
        device = self.run("network", "inspect", "--format", "{{.NetworkInterface}}", network).strip()
        self.run("network", "rm", network)
        (_NAME_SERVER / network).unlink(missing_ok=True)
        for port in Path("/sys/class/net").glob("*/master"):
            if port.resolve().name == device:
                attempt(["ip", "link", "delete", port.parent.name])
        if Path("/sys/class/net", device).exists():
            attempt(["ip", "link", "delete", device])

    def rest(self) -> None:
        """Without containers, take back the mounts that podman has made over its store and an empty /run/netns."""
        _unmount_unused_namespaces()
        if self.run("ps", "--all", "--quiet").strip():
            return
        for line in Path("/proc/mounts").read_text().splitlines():
            mounted = Path(line.split()[1])
            empty = mounted == _NETWORKS and not any(_NETWORKS.iterdir())
            if empty or mounted.is_relative_to(self._folder) or mounted.is_relative_to(self._state):
                attempt(["umount", mounted])


def _unmount_unused_namespaces() -> None:
    """Remove the network namespaces of containers that were never started, as podman was killed meanwhile.

    Nobody is in them, and they are not new: containers that are just being made have theirs before their processes.
    """
    used = set()
    for namespace in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):  # it has ended meanwhile
            used.add(namespace.stat().st_ino)
    for mounted in _NETWORKS.glob("netns-*"):
        with suppress(OSError):
            state = mounted.stat()
            if state.st_ino not in used and time.time() - state.st_mtime > _NEW_SECONDS:
                attempt(["umount", mounted])
                mounted.unlink()


def missing_packages() -> list[str]:
    """Return the Debian packages that must be installed before nodes can run."""
    programs = [package for program, package in _PROGRAMS.items() if not shutil.which(program)]
    return programs + [package for path, package in _FILES.items() if not Path(path).exists()]


def _install(packages: Sequence[str]) -> None:
    if not shutil.which("apt-get"):
        raise ClusterError(f"install what runs the nodes: {', '.join(packages)} (Debian's names)")
    say(f"== installing {' '.join(packages)}")
    run(install_command(*packages))
