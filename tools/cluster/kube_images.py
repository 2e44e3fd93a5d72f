"""The images that kubeadm, the network and the storage ask for: one layer for all, with an entrypoint each."""

import shutil
from pathlib import Path

from tools.cluster.binaries import LINKS
from tools.cluster.versions import VERSIONS
from tools.images.archive import Image
from tools.images.debian import in_tree
from tools.images.layers import read_layer, tree_state, write_layer

REPOSITORY = "localhost/kube"
"""The repository that kubeadm takes its images from."""

_APPLETS = ("sh", "mkdir", "rm")  # for the scripts of the storage
_IPTABLES = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
_XTABLES = "usr/lib/x86_64-linux-gnu/xtables"


def kube_image(name: str, tag: str = VERSIONS.kubernetes) -> str:
    """Return the full name of one of kubeadm's images."""
    return f"{REPOSITORY}/{name}:{tag}"


def kube_images(work: Path, node: Path, binaries: Path) -> list[Image]:
    """Return kubeadm's images: one layer, an entrypoint each. `node` is the tree that their libraries come from."""
    _fill_kube_tree(work / "tree", node, binaries)
    write_layer(work, work / "tree", sorted(tree_state(work / "tree")), owned_by_root=True)
    layers = (read_layer(work),)
    tags = VERSIONS.kubeadm
    programs = {kube_image(name): name for name in LINKS if name.startswith("kube-")}
    programs |= {
        kube_image("etcd", tags.etcd): "etcd",
        kube_image("coredns", tags.coredns): "coredns",
        kube_image("pause", tags.pause): "pause",
        kube_image("kubebox"): "kubebox",
    }
    path = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    return [
        Image(name=name, layers=layers, environment=path, entrypoint=(f"/usr/local/bin/{program}",))
        for name, program in programs.items()
    ]


def _fill_kube_tree(tree: Path, node: Path, binaries: Path) -> None:
    programs = tree / "usr/local/bin"
    programs.mkdir(parents=True)
    for name in ("kubebox", "coredns", "local-path-provisioner"):
        shutil.copy(binaries / name, programs)
    for name in LINKS:
        (programs / name).symlink_to("kubebox")
    (tree / "tmp").mkdir()
    (tree / "tmp").chmod(0o1777)
    (tree / "bin").mkdir()
    shutil.copy(node / "bin/busybox", tree / "bin")
    for name in _APPLETS:
        (tree / "bin" / name).symlink_to("busybox")
    _copy_iptables(tree, node)


def _copy_iptables(tree: Path, node: Path) -> None:
    """Copy iptables with every library that any of its matches and targets needs: a missing one breaks Services."""
    program = "usr/sbin/xtables-legacy-multi"
    plugins = [str(path.relative_to(node)) for path in sorted((node / _XTABLES).glob("*.so"))]
    listed = in_tree(node, ["ldd", f"/{program}", *(f"/{plugin}" for plugin in plugins)])
    libraries = {word for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    for path in (program, *plugins, *(library.lstrip("/") for library in libraries)):
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(node / path, target)
    for name in _IPTABLES:
        (tree / "usr/sbin" / name).symlink_to("xtables-legacy-multi")
