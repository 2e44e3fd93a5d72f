"""The systems of all apps, as far as the Kubernetes operator deals with them: it counts partitions and deletes streams.

It reaches brokers. Files and logs lie on disks that only an app's pods see: their streams have the partitions that the
spec says.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from streamapp_core.plan.delivery import default_system
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import KafkaSystem, SystemSpec
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.document_recovery import Announced
from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.partition_counts import BrokerSet, CountRequest
from streamapp_operator.observe.resource_views import AppKey, AppResource
from streamapp_systems.coordinator_stream import CoordinatorReader, coordinator_stream
from streamapp_systems.kafka import Cluster, KafkaAdmin, KafkaConsumer, SecretItems, cluster_of
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

_MILLISECONDS = 1_000
_TIMEOUT = 10.0
"""Seconds that brokers may stay silent: the answer is asked for again, so nothing is lost."""
ReadSecret = Callable[[str, str], Mapping[str, str]]
"""Reads a Secret: namespace, name -> its items as text; empty if it is not there."""
_Key = tuple[str, str, str | None]


class KafkaCounter:
    """See `TopicCounter`; the client is made for the first request, and again after one that failed."""

    def __init__(self, name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> None:
        self._name = name
        self._system = system
        self._namespace = namespace
        self._read_secret = read_secret
        self._admin: KafkaAdmin | None = None

    def count(self, topics: Sequence[str]) -> Mapping[str, int]:
        """See `TopicCounter.count`."""
        if self._admin is None:
            self._admin = open_kafka(self._name, self._system, self._namespace, self._read_secret)
        try:
            return self._admin.partitions([_topic(self._name, topic) for topic in topics])
        except StreamSystemError:
            self._admin.close()
            self._admin = None
            raise


class Systems:
    """Knows the broker sets of all apps; each has a thread of its own, so that a slow one delays nobody else."""

    def __init__(self, read_secret: ReadSecret, changed: Callable[[AppKey], object], *, settle: float) -> None:
        self._read_secret = read_secret
        self._changed = changed
        self._settle = settle
        self._lock = threading.Lock()
        self._sets: dict[_Key, BrokerSet] = {}

    def ask(self, resource: AppResource) -> StreamCounts:
        """Tell what is known of an app's external streams, and see to it that it becomes and stays known."""
        app = read_app(resource.text).app
        if app is None:
            return StreamCounts(known={})
        known = dict(_declared(app))
        troubles = []
        for name, system in sorted(app.spec.systems.items()):
            if system.kafka is None:
                continue
            answer = self._ask_brokers(resource.key, app, name, system.kafka)
            if answer.trouble is not None:
                troubles.append(answer.trouble)
            elif answer.known is None:
                return StreamCounts()
            known |= {} if answer.known is None else answer.known
        return StreamCounts(trouble="; ".join(troubles)) if troubles else StreamCounts(known=known)

    def announced(self, resource: AppResource) -> Announced | None:
        """Read what the newest driver of an app announced, if it did so on brokers.

        Raises:
            StreamSystemError: they can't be asked.
            JobModelUnreadableError: what is there is damaged, or of a later release.
        """
        app = read_app(resource.text).app
        name = None if app is None else default_system(app.spec)
        system = None if app is None or name is None else app.spec.systems[name].kafka
        if app is None or name is None or system is None:
            return None
        cluster = reach_kafka(name, system, resource.key.namespace, self._read_secret)
        stream = coordinator_stream(app.metadata, name)
        with closing(KafkaAdmin(cluster)) as admin:
            reader = CoordinatorReader(stream, admin, lambda: KafkaConsumer(cluster, [stream]))
            newest, model = reader.newest(), reader.job_model()
        return None if newest is None or model is None else Announced(model=model, epoch=newest.epoch)

    def forget(self, key: AppKey) -> None:
        """Ask no more for an app that is gone."""
        with self._lock:
            sets = list(self._sets.values())
        for brokers in sets:
            brokers.forget(key)

    def delete(self, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]) -> None:
        """Delete all topics whose names begin with a prefix.

        Raises:
            StreamSystemError: brokers can't be reached, or refuse.
        """
        for name, system in systems.items():
            if system.kafka is not None:
                with closing(open_kafka(name, system.kafka, namespace, self._read_secret)) as admin:
                    admin.delete([_topic(name, topic) for topic in admin.beginning_with(prefix)])

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            for brokers in self._sets.values():
                brokers.close()

    def _ask_brokers(self, key: AppKey, app: StreamApp, name: str, system: KafkaSystem) -> StreamCounts:
        topics = {stream: spec.name or stream for stream, spec in app.spec.streams.items() if spec.system == name}
        monitor = app.spec.job.partition_monitor
        interval = monitor.interval / _MILLISECONDS if monitor.enabled else None
        brokers = self._brokers(key.namespace, name, system)
        answer = brokers.answer(key, CountRequest(topics=frozenset(topics.values()), interval=interval))
        if answer.known is None:
            return answer
        counts = {stream: answer.known[topic] for stream, topic in topics.items() if topic in answer.known}
        return StreamCounts(known=counts, trouble=answer.trouble)

    def _brokers(self, namespace: str, name: str, system: KafkaSystem) -> BrokerSet:
        """Find the broker set of a system: the same for all apps with the same settings."""
        key = (system.bootstrap_servers, system.model_dump_json(), None if system.auth is None else namespace)
        with self._lock:
            brokers = self._sets.get(key)
            if brokers is None:
                counter = KafkaCounter(name, system, namespace, self._read_secret)
                brokers = BrokerSet(counter, self._changed, settle=self._settle, clock=time.monotonic)
                self._sets[key] = brokers
                threading.Thread(target=brokers.run, name=f"brokers-{len(self._sets)}", daemon=True).start()
            return brokers


def open_kafka(name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> KafkaAdmin:
    """Open the metadata of a Kafka cluster, with the credentials that the app names.

    Raises:
        StreamSystemError: settings are wrong, or a secret is not there.
    """
    return KafkaAdmin(reach_kafka(name, system, namespace, read_secret))


def reach_kafka(name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> Cluster:
    """Return a Kafka cluster as its clients need it, with the credentials that the app names.

    Raises:
        StreamSystemError: settings are wrong, or a secret is not there.
    """
    items = {} if system.auth is None else read_secret(namespace, system.auth.secret_name)
    return cluster_of(name, system, SecretItems(namespace=namespace, items=items), _TIMEOUT)


def _declared(app: StreamApp) -> Mapping[str, int]:
    """Give the counts that the spec says, of streams that can't be asked for."""
    return {
        name: spec.partitions
        for name, spec in app.spec.streams.items()
        if spec.partitions is not None
        and spec.system in app.spec.systems
        and app.spec.systems[spec.system].kafka is None
    }


def _topic(system: str, topic: str) -> StreamDescriptor:
    return StreamDescriptor(name=topic, system=system, address=topic, format=StreamFormat.JSON)
