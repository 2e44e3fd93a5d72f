"""The brokers of all apps: partitions are counted there, and coordinator streams read.

Files and logs are on disks that only an app's pods see: their streams have the partition counts that the spec
declares.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing

from streamapp_core.plan.delivery import default_system
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.systems import KafkaSystem
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.document_recovery import JobModelBackup
from streamapp_operator.observe.kafka_clusters import ReadSecret, resolve_kafka_cluster
from streamapp_operator.observe.kafka_topic_counter import KafkaTopicCounter
from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.resource_views import AppKey, AppResource
from streamapp_operator.observe.topic_partition_monitor import TopicPartitionMonitor, WatchedTopics
from streamapp_systems.coordinator_stream import CoordinatorReader, coordinator_stream
from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer

_MILLISECONDS = 1_000
_MonitorKey = tuple[str, str, str | None]


class Brokers:
    """The brokers of all apps. Each set of brokers has a monitor with its own thread: a slow one delays no other."""

    def __init__(self, read_secret: ReadSecret, on_change: Callable[[AppKey], object], *, debounce: float) -> None:
        self._read_secret = read_secret
        self._on_change = on_change
        self._debounce = debounce
        self._lock = threading.Lock()
        self._monitors: dict[_MonitorKey, TopicPartitionMonitor] = {}

    def read_counts(self, resource: AppResource) -> StreamCounts:
        """Return the known counts of an app's external streams, and keep them up to date from now on."""
        app = read_app(resource.text).app
        if app is None:
            return StreamCounts(known={})
        known = dict(_declared_counts(app))
        errors = []
        for name, system in sorted(app.spec.systems.items()):
            if system.kafka is None:
                continue
            answer = self._read_topic_counts(resource.key, app, name, system.kafka)
            if answer.error is not None:
                errors.append(answer.error)
            elif answer.known is None:
                return StreamCounts()
            known |= {} if answer.known is None else answer.known
        return StreamCounts(error="; ".join(errors)) if errors else StreamCounts(known=known)

    def read_job_model_backup(self, resource: AppResource) -> JobModelBackup | None:
        """Read the copy of an app's job model from its coordinator stream, if that is on brokers.

        Raises:
            StreamSystemError: they can't be reached.
            JobModelUnreadableError: the copy is damaged, or of a later release.
        """
        app = read_app(resource.text).app
        name = None if app is None else default_system(app.spec)
        system = None if app is None or name is None else app.system(name).kafka
        if app is None or name is None or system is None:
            return None
        cluster = resolve_kafka_cluster(name, system, resource.key.namespace, self._read_secret)
        stream = coordinator_stream(app, name)
        with closing(KafkaAdmin(cluster)) as admin:
            reader = CoordinatorReader(stream, admin, lambda: KafkaConsumer(cluster, [stream]))
            newest, model = reader.newest(), reader.job_model()
        return None if newest is None or model is None else JobModelBackup(model=model, epoch=newest.epoch)

    def forget(self, key: AppKey) -> None:
        """Stop watching the topics of an app that is gone."""
        with self._lock:
            monitors = list(self._monitors.values())
        for monitor in monitors:
            monitor.forget(key)

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            for monitor in self._monitors.values():
                monitor.close()

    def _read_topic_counts(self, key: AppKey, app: StreamApp, name: str, system: KafkaSystem) -> StreamCounts:
        topics = {stream: spec.name or stream for stream, spec in app.spec.streams.items() if spec.system == name}
        settings = app.spec.job.partition_monitor
        interval = settings.interval / _MILLISECONDS if settings.enabled else None
        monitor = self._find_monitor(key.namespace, name, system)
        answer = monitor.watch(key, WatchedTopics(topics=frozenset(topics.values()), interval=interval))
        if answer.known is None:
            return answer
        counts = {stream: answer.known[topic] for stream, topic in topics.items() if topic in answer.known}
        return StreamCounts(known=counts, error=answer.error)

    def _find_monitor(self, namespace: str, name: str, system: KafkaSystem) -> TopicPartitionMonitor:
        """Return the monitor of a system's brokers: the same for all apps with the same settings."""
        key = (system.bootstrap_servers, system.model_dump_json(), None if system.auth is None else namespace)
        with self._lock:
            monitor = self._monitors.get(key)
            if monitor is None:
                counter = KafkaTopicCounter(name, system, namespace, self._read_secret)
                monitor = TopicPartitionMonitor(counter, self._on_change, debounce=self._debounce, clock=time.monotonic)
                self._monitors[key] = monitor
                threading.Thread(target=monitor.run, name=f"brokers-{len(self._monitors)}", daemon=True).start()
            return monitor


def _declared_counts(app: StreamApp) -> Mapping[str, int]:
    """Return the counts that the spec declares for streams that are not on brokers."""
    return {
        name: spec.partitions
        for name, spec in app.spec.streams.items()
        if spec.partitions is not None
        and spec.system in app.spec.systems
        and app.spec.systems[spec.system].kafka is None
    }
