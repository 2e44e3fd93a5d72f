"""The pinned versions, read from `versions.toml`."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

KUBERNETES = "k8s.io/kubernetes"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KubeadmTags(_Strict):
    """The tags under which kubeadm asks for the images that are not Kubernetes' own."""

    coredns: str
    etcd: str
    pause: str


class Published(_Strict):
    """The images of an ordinary registry."""

    node_image: str
    python_image: str


class Debian(_Strict):
    """The parts of self-built images."""

    release: str
    java: str


class Kafka(_Strict):
    """The broker for tests and demos."""

    version: str


class Versions(_Strict):
    """Every version of what clusters and images are made of."""

    modules: dict[str, str]
    kubeadm: KubeadmTags
    published: Published
    debian: Debian
    kafka: Kafka

    @property
    def kubernetes(self) -> str:
        """Kubernetes' version, such as v1.34.4."""
        return self.modules[KUBERNETES]


VERSIONS = Versions.model_validate(tomllib.loads(Path(__file__).with_name("versions.toml").read_text()))
