"""The images as they are given to nodes: small, for a user who is not root, and labelled.

That they run with a read-only root file system is seen in every pod of the other tests.
"""

import json
import tarfile

import pytest
from tools.cluster.check import Missing
from tools.images.labels import revision, version

from support.machine import need

MEGABYTE = 1_000_000
MOST = {"operator": 500, "runtime": 1200}
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


@pytest.mark.parametrize("image", MOST)
def test_images_are_small_labelled_and_not_for_root(image, built_images):
    if built_images is None:
        need([Missing(what="a cluster of our own", why="images are made for it", install="unset KUBECONFIG")])
    name = getattr(built_images, image)
    assert built_images.sizes[name] < MOST[image] * MEGABYTE
    found = configurations(built_images.archive)[name]
    assert found["User"] == "10001:10001"
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in found["Labels"].items()}
    assert labels["title"] == f"StreamApp {image}"
    assert (labels["version"], labels["revision"]) == (version(), revision())
