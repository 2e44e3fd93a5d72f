"""Files of other tools repeat versions of `versions.toml`; they must not differ."""

import re

import pytest
from tools.cluster.versions import VERSIONS
from tools.images.packages import PYTHON, ROOT
from tools.kafka.jars import POM
from tools.kafka.manifests import published_image


@pytest.mark.parametrize("image", ["operator", "runtime"])
def test_dockerfiles_stand_on_the_python_image(image):
    dockerfile = (ROOT / "images" / image / "Dockerfile").read_text()
    assert re.findall(r"^ARG PYTHON_IMAGE=(\S+)", dockerfile, re.MULTILINE) == [VERSIONS.published.python_image]


def test_the_runtime_s_dockerfile_has_the_java_of_self_made_images():
    dockerfile = (ROOT / "images" / "runtime" / "Dockerfile").read_text()
    assert re.findall(r"\S*jre\S*", dockerfile) == [VERSIONS.debian.java]


def test_both_ways_give_the_same_debian_and_python():
    version = PYTHON.removeprefix("python")
    assert VERSIONS.published.python_image.endswith(f"python:{version}-slim-{VERSIONS.debian.release}")


def test_kafka_s_jars_and_its_image_have_one_version():
    named = dict(re.findall(r"<artifactId>(kafka\S*)</artifactId>\s*<version>(.*?)</version>", POM.read_text()))
    del named["kafka-broker"]
    assert named == dict.fromkeys(["kafka_2.13", "kafka-tools"], VERSIONS.kafka.version)
    assert published_image() == f"apache/kafka:{VERSIONS.kafka.version}"


def test_the_published_node_image_has_the_kubernetes_of_self_built_ones():
    (minor,) = re.findall(r"kindest/node:v(\d+\.\d+)\.\d+@sha256:", VERSIONS.published.node_image)
    assert VERSIONS.kubernetes.startswith(f"v{minor}.")
