"""The self-made node image: Debian with systemd and containerd, Kubernetes as one file, and images unpacked beforehand.

What kind needs of a node image, and nothing else, is here: its own entrypoint and units, `/kind/version`, the manifests
of network and storage, and the images that kubeadm names. The base of StreamApp's images is unpacked with them, so that
a cluster is given StreamApp's code only.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.cluster.binaries import KIND_FILES, kube_binaries
from tools.cluster.cached import kept, key_of, locked, workplace
from tools.cluster.kube_images import kube_image, kube_images
from tools.cluster.podman import Podman
from tools.cluster.process import run, say, step
from tools.cluster.versions import VERSIONS
from tools.images.archive import write_archive
from tools.images.base import app_base, app_base_key
from tools.images.debian import debian_tree, in_tree

_REPOSITORY = "localhost/streamapp-node"
_KEPT_IMAGES = 2  # of 1.8 GB each
_FILES = Path(__file__).parent / "node"
_PACKAGES = (
    "busybox-static",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "dbus",
    "ethtool",
    "iproute2",
    "iptables",
    "kmod",
    "procps",
    "runc",
    "systemd",
)
_LEFT_OUT = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists", "var/log")
_DESCRIPTION = (
    'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]',
    "ENV container=podman",
    "STOPSIGNAL SIGRTMIN+3",
)


def node_image(cache: Path, podman: Podman) -> str:
    """Return the name of the node image in podman's store, making the image if it is not there.

    Raises:
        ClusterError: something it is made of can't be had or built here.
    """
    name = node_image_name(cache)
    if podman.has_image(name):
        return name
    with locked(cache, name.rpartition("/")[2].replace(":", "-")):
        if not podman.has_image(name):
            say(f"== making the node image (once; kept in {cache})")
            _build(cache, podman, kube_binaries(cache), name)
            podman.forget_images(_REPOSITORY, but=_KEPT_IMAGES)
    return name


def node_image_name(cache: Path) -> str:
    """Return the name that the node image has, made or not: it holds the key of all the image is made of."""
    sources = [*_FILES.iterdir(), Path(__file__), Path(__file__).with_name("kube_images.py")]
    binaries = kube_binaries(cache)
    key = key_of(_tree_key(), binaries.name, app_base_key(), sources, VERSIONS.kubeadm.model_dump_json())
    return f"{_REPOSITORY}:{key}"


def _tree_key() -> str:
    return key_of(VERSIONS.debian.release, *_PACKAGES, "/", *_LEFT_OUT)


def _build(cache: Path, podman: Podman, binaries: Path, name: str) -> None:
    base = kept(cache, f"node-debian-{_tree_key()}", _build_tree, what="making the nodes' Debian, about a minute")
    with workplace(cache, name.rpartition("/")[2].replace(":", "-")) as work:
        tree, archives = work / "tree", work / "tree" / "archives"
        archives.mkdir(parents=True)
        with step("files of Debian, kind and Kubernetes"):
            run(["tar", "-x", "-C", tree, "-f", base / "tree.tar"])
            _copy_files(tree, binaries)
        with step("archives of Kubernetes' images and of the base of StreamApp's"):
            write_archive(archives / "kube.tar", kube_images(work / "kube", tree, binaries))
            app_base(cache).write(archives / "app.tar")
        with step("unpacking the images"):
            shutil.copy(_FILES / "prepare.sh", archives)
            in_tree(tree, ["/bin/bash", "/archives/prepare.sh", "/archives/kube.tar", "/archives/app.tar"])
            shutil.rmtree(archives)
        with step("giving the image to podman"):
            podman.import_image(tree, name, _DESCRIPTION)


def _build_tree(work: Path) -> None:
    tree = work / "tree"
    debian_tree(tree, _PACKAGES)
    left_out = [f"--exclude=./{path}" for path in _LEFT_OUT]
    run(["tar", "-c", "-C", tree, "-f", work / "tree.tar", *left_out, "."])
    shutil.rmtree(tree)


def _copy_files(tree: Path, binaries: Path) -> None:
    """Add kind's own files, at the version of the kind that will use them, and ours."""
    _copy(binaries / KIND_FILES, tree, ("etc/systemd", "etc/default", "etc/sysctl.d", "kind/bin", "usr/local/bin"))
    for script in (*tree.glob("kind/bin/*"), *tree.glob("usr/local/bin/*")):
        script.chmod(0o755)
    kind_folder = tree / "kind"
    (kind_folder / "manifests").mkdir()
    (kind_folder / "version").write_text(VERSIONS.kubernetes)
    _fill(_FILES / "cni.yaml", kind_folder / "manifests" / "default-cni.yaml")
    _fill(_FILES / "storage.yaml", kind_folder / "manifests" / "default-storage.yaml")
    (tree / "etc/containerd").mkdir(exist_ok=True)
    _fill(_FILES / "containerd.toml", tree / "etc/containerd/config.toml")
    shutil.copy(_FILES / "containerd.service", tree / "etc/systemd/system")
    specification = json.loads(in_tree(tree, ["ctr", "oci", "spec"]))
    del specification["process"]["rlimits"]  # nodes can't raise them
    (tree / "etc/containerd/cri-base.json").write_text(json.dumps(specification))


def _copy(source: Path, target: Path, folders: Sequence[str]) -> None:
    for folder in folders:
        shutil.copytree(source / folder, target / folder, dirs_exist_ok=True, copy_function=shutil.copyfile)


def _fill(source: Path, target: Path) -> None:
    names = {"KUBE_IMAGE": kube_image("kubebox"), "PAUSE_IMAGE": kube_image("pause", VERSIONS.kubeadm.pause)}
    text = source.read_text()
    for word, name in names.items():
        text = text.replace(word, name)
    target.write_text(text)
