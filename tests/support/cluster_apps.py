"""StreamApps on a real cluster: the operator from the chart, and an app of numbered records."""

import json
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.namespaces import test_namespaces
from tools.cluster.process import run

from streamapp_core.spec.systems import SystemSpec
from streamapp_systems.registry import local_systems
from support import numbered, waiting

CHART = Path(__file__).parents[2] / "charts" / "streamapp"
HOME = "streamapp-system"
_PAUSE = 0.5
_PATIENCE = 2
"""By so much a machine may be slower than one that needs all of the seconds that tests give."""


def eventually(fact, seconds: float):
    """Ask until the answer is true; not often, as whoever asks kubectl takes time from the apps."""
    return waiting.eventually(fact, _PATIENCE * seconds, _PAUSE)


def install_operator(cluster, image: str) -> None:
    """Install the chart, or bring it up to date; the operator is ready then."""
    repository, _, tag = image.rpartition(":")
    labels = "pod-security.kubernetes.io/enforce=restricted"
    if not cluster.kubectl("get", "namespace", HOME, "--ignore-not-found", "--output=name"):
        cluster.kubectl("create", "namespace", HOME)
        cluster.kubectl("label", "namespace", HOME, labels)
    helm = kube_binaries(default_cache()) / "helm"
    settings = [f"--set=image.repository={repository}", f"--set=image.tag={tag}", "--set=settings.executorTimeout=15"]
    settings.append("--set=settings.partitionCountDebounce=1")
    command = [helm, "upgrade", "--install", "streamapp", CHART, f"--namespace={HOME}", "--wait", "--timeout=300s"]
    run([*map(str, command), *settings], env=cluster.environment)


def kill_operator(cluster) -> None:
    """Kill the Kubernetes operator; its Deployment makes another."""
    kill(cluster, HOME, "--selector=app.kubernetes.io/name=streamapp")


def kill(cluster, namespace: str, pod: str) -> None:
    """Kill a pod, or those that a selector finds, as the loss of their machine would."""
    cluster.kubectl("delete", "pod", pod, f"--namespace={namespace}", "--grace-period=0", "--force")


def expendable_node(cluster) -> str:
    """Name a worker that can be lost: no test needs what runs there. A node that comes back has another address."""
    return min(eventually(lambda: workers(cluster) - _needed(cluster), 180))


def _needed(cluster) -> set[str]:
    homes = (HOME, *test_namespaces(cluster))
    return {pod["spec"].get("nodeName") for home in homes for pod in cluster.get("pods", f"--namespace={home}")}


def workers(cluster) -> set[str]:
    """Name the nodes that apps run on."""
    nodes = cluster.get("nodes", "--selector=!node-role.kubernetes.io/control-plane")
    return {node["metadata"]["name"] for node in nodes}


def apply(cluster, document: dict) -> None:
    """Apply an app as kubectl does."""
    cluster.kubectl("apply", "--filename=-", text=json.dumps(document))


def edit(cluster, namespace: str, app: str, **fields) -> None:
    """Change fields of an app's spec."""
    patch = json.dumps({"spec": fields})
    cluster.kubectl("patch", "streamapp", app, f"--namespace={namespace}", "--type=merge", f"--patch={patch}")


def wait_for(cluster, namespace: str, app: str, condition: str, seconds: int = 120) -> None:
    """Wait until a condition of an app is true."""
    longest = _PATIENCE * seconds
    waiting = [f"--namespace={namespace}", f"--for=condition={condition}", f"--timeout={longest}s"]
    cluster.kubectl("wait", f"streamapp/{app}", *waiting, timeout=longest + 10)


def status(cluster, namespace: str, app: str) -> dict:
    """Return the status of an app."""
    return cluster.get("streamapp", f"--namespace={namespace}", app).get("status", {})


def condition(cluster, namespace: str, app: str, kind: str) -> dict:
    """Return one condition of an app, empty if it has none."""
    found = status(cluster, namespace, app).get("conditions", ())
    return next((condition for condition in found if condition["type"] == kind), {})


def pods(cluster, namespace: str, app: str, role: str) -> list[dict]:
    """Return the pods of an app that have not ended, in the order of their names."""
    selector = f"--selector=streamapp.dev/app={app},streamapp.dev/role={role}"
    found = cluster.get("pod", f"--namespace={namespace}", selector)
    return [pod for pod in found if pod["status"].get("phase") in ("Pending", "Running")]


class Numbered:
    """The app of numbered records, endless, with all its streams in the Kafka of a cluster."""

    def __init__(self, namespace: str, image: str, kafka, name: str, partitions: int = 4) -> None:
        """Make its topics, which begin with the namespace, and fill its table; nothing is applied yet."""
        self.namespace = namespace
        self.app = name
        self.name = f"{namespace}.{name}"
        self.kafka = kafka
        self.partitions = partitions
        self.fed = 0
        topics = {"in": partitions, "names": 1, "out": 3, "counts": 3}
        self._admin = AdminClient({"bootstrap.servers": kafka.outside})
        for made in self._admin.create_topics(
            [NewTopic(f"{self.name}.{topic}", count) for topic, count in topics.items()]
        ).values():
            made.result(timeout=60)
        self._producer = self._new_producer()
        for key in range(numbered.KEYS):
            row = json.dumps({"k": key, "name": f"name {key}"})
            self._producer.produce(f"{self.name}.names", row, str(key))
        self._producer.flush()
        self.document = self._document(image)

    def topics(self) -> set[str]:
        """Name the topics that go with the app if its deletion policy says so: these are all whose names begin so."""
        return {topic for topic in self._admin.list_topics(timeout=30).topics if topic.startswith(f"{self.name}.")}

    def grow(self, partitions: int) -> None:
        """Add partitions to the input; the records that are fed from now on go to all of them."""
        for grown in self._admin.create_partitions([NewPartitions(f"{self.name}.in", partitions)]).values():
            grown.result(timeout=60)
        self._producer.flush()
        self._producer = self._new_producer()  # the former one knows of the former partitions
        self.partitions = partitions

    def feed(self, count: int, partitions: int | None = None) -> None:
        """Write the next records of all keys, each key's in order, by its number to one of so many partitions."""
        spread = partitions or self.partitions
        for number in range(self.fed, self.fed + count):
            key, n = number % numbered.KEYS, number // numbered.KEYS
            self._producer.produce(f"{self.name}.in", json.dumps({"k": key, "n": n}), partition=key % spread)
            if number % 10_000 == 0:
                self._producer.flush()
        self._producer.flush()
        self.fed += count

    def wait_until_all_came_out(self, seconds: float = 240) -> None:
        """Wait for every record that was fed, and prove that none is lost, doubled or out of order."""
        eventually(lambda: len(self._read()["out"]) >= self.fed, seconds)
        rows = self._read()
        expected = {key: list(range(len(range(key, self.fed, numbered.KEYS)))) for key in range(numbered.KEYS)}
        numbered.check_records(rows["out"], expected)
        eventually(lambda: self._counted(expected), 120)
        numbered.check_counts(self._read()["counts"], expected)

    def _new_producer(self) -> Producer:
        return Producer({"bootstrap.servers": self.kafka.outside, "enable.idempotence": True})

    def _counted(self, expected) -> bool:
        last = {row["k"]: row["c"] for _, row in self._read()["counts"]}
        return last == {key: len(numbers) for key, numbers in expected.items()}

    def _read(self):
        system = SystemSpec.model_validate_json(json.dumps({"kafka": {"bootstrapServers": self.kafka.outside}}))
        streams = [numbered.stream_of(self.name, which) for which in ("out", "counts")]
        return numbered.read(local_systems(Path()), system, streams)

    def _document(self, image: str) -> dict:
        document = numbered.app({"kafka": {"bootstrapServers": self.kafka.inside}}, self.name, bounded=False)
        document["metadata"] = {"name": self.app, "namespace": self.namespace}
        spec = document["spec"]
        spec["image"] = image
        del spec["systems"]["files"]
        names = {"system": numbered.HUB, "name": f"{self.name}.names", "format": "json", "schema": "k int, name string"}
        spec["streams"]["names"] = {**names, "broadcast": True}
        spec["job"] |= {"commitInterval": "200ms", "partitionMonitor": {"interval": "3s"}}
        spec["processors"] = {"count": 2, "memory": "1Gi"}
        spec["restartPolicy"] = {"backoff": "1s", "max": "5s"}
        return document
