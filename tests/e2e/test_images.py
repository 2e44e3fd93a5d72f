"""The images as they are given to nodes: small, for a user who is not root, labelled, and with a bill in a release.

That they run with a read-only root file system is seen in every pod of the other tests.
"""

import json
import re
import tarfile
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tools.cluster.check import Missing
from tools.images.labels import revision, version
from tools.images.packages import closure, requirements
from tools.release.artefacts import SUMS, ReleaseRequest, make_release

from support.machine import need

MEGABYTE = 1_000_000
MOST = {"operator": 500, "runtime": 1600}
"""Megabytes, unpacked."""


def configurations(archive):
    """Give how the images of an archive run, by their names."""
    with tarfile.open(archive) as tar:

        def read(name):
            return json.load(tar.extractfile(name))

        def blob(descriptor):
            return read(f"blobs/{descriptor['digest'].replace(':', '/')}")

        if "manifest.json" in tar.getnames():
            listed = read("manifest.json")
            return {name: read(entry["Config"])["config"] for entry in listed for name in entry["RepoTags"]}
        found = read("index.json")["manifests"]
        names = [entry["annotations"]["org.opencontainers.image.ref.name"] for entry in found]
        return {name: blob(blob(entry)["config"])["config"] for name, entry in zip(names, found, strict=True)}


@pytest.fixture
def of_ours(built_images):
    """The images, which are made for a cluster of ours only."""
    if built_images is None:
        need([Missing(what="a cluster of our own", why="images are made for it", install="unset KUBECONFIG")])
    return built_images


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release with images, but without the index's answers for hashes of Python packages."""
    folder = tmp_path_factory.mktemp("release")
    request = ReleaseRequest(image="registry.invalid/i", images=True, builder="https://b.invalid", serial=UUID(int=1))
    make_release(folder, request, lambda: (), lambda: datetime(2026, 1, 1, tzinfo=UTC))
    yield folder
    (folder / "streamapp-images.tar").unlink()


@pytest.mark.usefixtures("of_ours")
@pytest.mark.parametrize(
    "image, debian, jars",
    [
        ("operator", {"libssl3", "tini"}, set()),
        ("runtime", {"libssl3", "tini", "openjdk-17-jre-headless"}, {"spark-core_2.13", "spark-kubernetes_2.13"}),
    ],
)
def test_a_release_has_a_bill_of_each_image_with_all_that_is_in_it(image, debian, jars, release):
    bill = json.loads((release / f"streamapp-{image}.cdx.json").read_text())
    assert f"streamapp-{image}.cdx.json\n" in (release / SUMS).read_text()
    found = {kind: {} for kind in ("deb", "pypi", "maven", "generic")}
    for part in bill["components"]:
        found[part["purl"].removeprefix("pkg:").partition("/")[0]][part["name"]] = part
    python = {re.sub(r"[-_.]+", "-", name).lower(): part["version"] for name, part in found["pypi"].items()}
    assert closure(requirements(image)).items() <= python.items()
    assert python["streamapp-operator"] == version()
    assert debian <= found["deb"].keys()
    assert jars <= found["maven"].keys()
    assert bool(found["maven"]) == bool(jars)
    assert [part["name"] for part in bill["components"] if not (part["version"] and part.get("hashes"))] == []


@pytest.mark.parametrize("image", MOST)
def test_images_are_small_labelled_and_not_for_root(image, of_ours):
    name = getattr(of_ours, image)
    assert of_ours.sizes[name] < MOST[image] * MEGABYTE
    found = configurations(of_ours.archive)[name]
    assert found["User"] == "10001:10001"
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in found["Labels"].items()}
    assert labels["title"] == f"StreamApp {image}"
    assert (labels["version"], labels["revision"]) == (version(), revision())
