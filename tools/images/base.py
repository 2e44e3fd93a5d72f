"""The images that StreamApp's pods run, made without an image registry.

All stand on one pile of layers, so that a node holds each of them once:

    Debian, Python | the operator's packages | Java | what the runtime adds, Spark above all | archives of its classes
        | StreamApp's code
    Debian, Python | the operator's packages | StreamApp's code
    Debian, Python | the operator's packages | Java | Kafka's jars

All but the code is the base. It is baked into node images; a cluster is then given archives with the code alone.
"""

from dataclasses import dataclass
from pathlib import Path

from tools.cluster.cached import kept, key_of
from tools.images.archive import Image, Layer, write_archive
from tools.images.class_archives import ARCHIVES, class_archives_key, class_archives_layer
from tools.images.debian import USER, debian_key, debian_layers
from tools.images.layers import read_layer, tree_state, write_layer
from tools.images.packages import HOME, SITE_PACKAGES, package_layers, packages_key
from tools.kafka.jars import POM, kafka_jars

RUNTIME, OPERATOR = "localhost/streamapp-runtime:dev", "localhost/streamapp-operator:dev"
KAFKA = "localhost/streamapp-kafka:dev"
KAFKA_JARS = "opt/kafka/libs"
"""Where Kafka's own image has its jars too, so that manifests fit both."""

_BASE = "localhost/streamapp-base:dev"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM = {"PATH": _PATH, "LANG": "C.UTF-8"}
_PYTHON = {
    "PATH": f"/{HOME}/bin:{_PATH}",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": "/app",
}
_SPARK = {
    "SPARK_HOME": f"/{SITE_PACKAGES}/pyspark",
    "PYSPARK_PYTHON": f"/{HOME}/bin/python",
    "STREAMAPP_CLASS_ARCHIVES": f"/{ARCHIVES}",
}
_TINI = ("/usr/bin/tini", "--")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppBase:
    """The layers below StreamApp's code and the images made of them; `key` changes when any of them does."""

    key: str
    operator: tuple[Layer, ...]
    runtime: tuple[Layer, ...]
    kafka: Image

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers, each once."""
        return (*self.runtime, self.kafka.layers[-1])

    def write(self, archive: Path) -> None:
        """Write the archive that a node image is given: what it unpacks, later archives need not hold."""
        write_archive(archive, [Image(name=_BASE, layers=self.runtime), self.kafka])


def app_base_key() -> str:
    """Return the key of the base without making it."""
    return key_of(debian_key(), packages_key(), class_archives_key(), POM)


def app_base(cache: Path) -> AppBase:
    """Return the base, making what of it is not in the cache.

    Raises:
        ClusterError: Debian's or Python's packages can't be had or used here.
        BrokerError: Kafka's jars can't be had.
    """
    system, java = debian_layers(cache)
    operator, spark = package_layers(cache)
    below_java = (system, operator)
    spark_layers = (*below_java, java, spark)
    runtime = (*spark_layers, class_archives_layer(cache, spark_layers))
    kafka = Image(
        name=KAFKA,
        layers=(*below_java, java, _kafka_layer(cache)),
        labels=_labels("Kafka", "A Kafka broker for tests and demos."),
        environment=_SYSTEM,
        user=f"{USER}:{USER}",
    )
    return AppBase(key=app_base_key(), operator=below_java, runtime=runtime, kafka=kafka)


def operator_image(base: AppBase, code: Layer, labels: dict[str, str]) -> Image:
    """Return the image of the Kubernetes operator."""
    return Image(
        name=OPERATOR,
        layers=(*base.operator, code),
        labels=_labels("StreamApp operator", "Runs StreamApps on Kubernetes.") | labels,
        environment=_PYTHON,
        user=f"{USER}:{USER}",
        folder="/app",
        entrypoint=_TINI,
        command=("python", "-m", "streamapp_operator"),
    )


def runtime_image(base: AppBase, code: Layer, labels: dict[str, str]) -> Image:
    """Return the image of drivers and processors."""
    return Image(
        name=RUNTIME,
        layers=(*base.runtime, code),
        labels=_labels("StreamApp runtime", "Runs the driver and the processors of StreamApps.") | labels,
        environment=_PYTHON | _SPARK,
        user=f"{USER}:{USER}",
        folder="/app",
        entrypoint=(*_TINI, f"/{HOME}/entrypoint"),
    )


def _labels(title: str, description: str) -> dict[str, str]:
    prefix = "org.opencontainers.image"
    return {f"{prefix}.title": title, f"{prefix}.description": description, f"{prefix}.licenses": "Apache-2.0"}


def _kafka_layer(cache: Path) -> Layer:
    jars = kafka_jars(cache)

    def build(work: Path) -> None:
        tree = work / "tree"
        (tree / KAFKA_JARS).mkdir(parents=True)
        for jar in jars.iterdir():
            (tree / KAFKA_JARS / jar.name).hardlink_to(jar)
        write_layer(work, tree, sorted(tree_state(tree)), owned_by_root=True)

    return read_layer(kept(cache, f"image-{jars.name}", build, what="making Kafka's layer"))
