"""The files that a release publishes.

The Python package (wheel and source), the packed Helm chart, the definition of StreamApp, a manifest that installs the
operator without Helm, the images with a bill of each, the hashes of the Python packages and a bill of them, and what
vouches for all: checksums, provenance, and signatures if there is a key. Nothing is sent: that takes rights.
"""

import hashlib
import json
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid5

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.process import run
from tools.images.build import build_images
from tools.release.bill_of_materials import Component, package_component, write_bill
from tools.release.image_archives import read_images
from tools.release.image_components import find_components, is_wanted, learn_facts
from tools.release.provenance import Build, write_statement
from tools.release.python_packages import PythonPackage, write_requirements
from tools.release.signatures import sign

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "streamapp"
NAMESPACE = "streamapp-system"
SUMS = "SHA256SUMS"
PROVENANCE = "provenance.json"
REQUIREMENTS = "requirements.txt"
BILL = "bill-of-materials.cdx.json"
PINS = ("constraints.txt", "pyproject.toml", "tools/cluster/versions.toml", "tools/kubebox/go.sum")
"""The files that say which versions of other projects are used."""
_NAMESPACE_MANIFEST = f"""apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """The inputs of a release.

    `image` is the repository that the operator's image will be pulled from, as the manifest names it, and `digest` the
    image there; without one it is named by its tag. Images are made if `images` is true, which takes minutes. `builder`
    is who makes it, as a URI; `serial` a random id. Without a `key` nothing is signed.
    """

    image: str
    digest: str = ""
    images: bool
    builder: str
    serial: UUID
    key: Ed25519PrivateKey | None = None


def make_release(
    into: Path,
    request: ReleaseRequest,
    find_packages: Callable[[], tuple[PythonPackage, ...]],
    clock: Callable[[], datetime],
) -> list[Path]:
    """Make all files in a folder that is emptied first, and return them, sorted.

    `find_packages` looks up the Python packages that a release is installed with.

    Raises:
        ClusterError, BrokerError: a tool is missing or fails.
    """
    started = clock()
    packages = find_packages()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    run([sys.executable, "-m", "hatchling", "build", "--directory", into.absolute()], cwd=ROOT)
    helm = kube_binaries(default_cache()) / "helm"
    run([helm, "package", CHART, "--destination", into])
    for definition in sorted((CHART / "crds").iterdir()):
        shutil.copy(definition, into)
    (into / "install.yaml").write_text(write_manifest(helm, request))
    (into / REQUIREMENTS).write_text(write_requirements(packages))
    name, version = project["name"], project["version"]
    whole = Component(name=name, version=version, url=f"pkg:pypi/{name}@{version}")
    bill = write_bill(whole, map(package_component, packages), serial=request.serial, at=started)
    (into / BILL).write_text(json.dumps(bill, indent=1))
    if request.images:
        write_image_bills(into, build_images(default_cache(), into).archive, request.serial, started)
    build = Build(
        commit=run(["git", "rev-parse", "HEAD"], cwd=ROOT).strip(),
        pins={name: _digest(ROOT / name) for name in PINS},
        parameters={"image": request.image, "digest": request.digest, "version": project["version"]},
        builder=request.builder,
        started=started,
        finished=clock(),
    )
    (into / PROVENANCE).write_text(json.dumps(write_statement(build, _digests(into)), indent=1))
    sums = "".join(f"{digest}  {name}\n" for name, digest in _digests(into).items())
    (into / SUMS).write_text(sums)
    if request.key is not None:
        for name in (SUMS, PROVENANCE):
            sign(into / name, request.key)
    return sorted(path for path in into.iterdir() if path.is_file())


def _digests(folder: Path) -> Mapping[str, str]:
    return {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.is_file()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_image_bills(into: Path, archive: Path, serial: UUID, at: datetime) -> None:
    """Write a bill of each image of an archive; their serials are made of the release's."""
    for image in read_images(archive, is_wanted, learn_facts):
        name, _, tag = image.name.rpartition("/")[2].partition(":")
        version = image.labels.get("org.opencontainers.image.version", tag)
        whole = Component(
            name=name, version=version, url=f"pkg:generic/{name}@{version}", sha256=image.digest.removeprefix("sha256:")
        )
        parts = find_components(image.files)
        bill = write_bill(whole, parts, kind="container", serial=uuid5(serial, name), at=at)
        (into / f"{name}.cdx.json").write_text(json.dumps(bill, indent=1))


def write_manifest(helm: Path, request: ReleaseRequest) -> str:
    """Return the objects that install the operator, as the chart makes them of its defaults."""
    definitions = [file.read_text() for file in sorted((CHART / "crds").iterdir())]
    values = (
        *("--set", f"image.repository={request.image}", "--set", "image.tag="),
        *("--set", f"image.digest={request.digest}"),
    )
    chart = run([helm, "template", "streamapp", CHART, "--namespace", NAMESPACE, *values])
    return "---\n".join([_NAMESPACE_MANIFEST, *definitions, chart])
