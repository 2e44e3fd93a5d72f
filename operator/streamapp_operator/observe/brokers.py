"""The brokers of all apps: partitions are counted there, and coordinator streams read.

Files and logs are on disks that only an app's pods see: their streams have the partition counts that the spec
declares.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from streamapp_core.plan.delivery import default_system
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.systems import KafkaSystem
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.broker_requests import AskBrokers, CountPartitions, ReadBackup
from streamapp_operator.observe.document_recovery import JobModelBackup
from streamapp_operator.observe.kafka_clusters import ReadSecret, resolve_kafka_cluster
from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.resource_views import AppKey, AppResource
from streamapp_operator.observe.topic_partition_monitor import TopicPartitionMonitor, WatchedTopics
from streamapp_operator.observe.work_queue import WorkQueue
from streamapp_systems.coordinator_stream import coordinator_stream

_log = structlog.get_logger()
_MILLISECONDS = 1_000
_THREADS = 6
_THREADS_OF_NAMESPACE = 2
"""Fewer than processes that ask brokers: some are left for other requests."""
_COALESCE_SECONDS = 0.05
"""The wait of a first request for the topics of other apps that come at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _MonitorKey:
    """A set of brokers as the apps of one namespace name it: what one namespace asks for delays and breaks no other."""

    namespace: str
    name: str
    system: str


class Brokers:
    """The brokers of all apps. A few threads count their topics, in turns that are fair between namespaces."""

    def __init__(
        self, ask: AskBrokers, read_secret: ReadSecret, on_change: Callable[[AppKey], object], *, debounce: float
    ) -> None:
        self._ask = ask
        self._read_secret = read_secret
        self._on_change = on_change
        self._debounce = debounce
        self._lock = threading.Lock()
        self._monitors: dict[_MonitorKey, TopicPartitionMonitor] = {}
        self._keys_of: dict[AppKey, frozenset[_MonitorKey]] = {}
        self._queue = WorkQueue[_MonitorKey](
            time.monotonic, lambda key: key.namespace, most_workers=_THREADS_OF_NAMESPACE
        )
        for number in range(_THREADS):
            threading.Thread(target=self._count_topics, name=f"brokers-{number}", daemon=True).start()

    def read_counts(self, resource: AppResource) -> StreamCounts:
        """Return the known counts of an app's external streams, and keep them up to date from now on."""
        app = read_app(resource.text).app
        if app is None:
            self.forget(resource.key)
            return StreamCounts(known={})
        systems = _find_systems(resource.key.namespace, app)
        self._keep(resource.key, frozenset(systems))
        answers = [self._read_topic_counts(key, resource.key, app, system) for key, system in systems.items()]
        if errors := [answer.error for answer in answers if answer.error is not None]:
            return StreamCounts(error="; ".join(errors))
        known = dict(_declared_counts(app))
        for answer in answers:
            if answer.known is None:
                return StreamCounts()
            known |= answer.known
        return StreamCounts(known=known)

    def known_counts(self, namespace: str, app: StreamApp) -> Mapping[str, int]:
        """Return the counts of an app's streams as far as they are known by now: nobody is asked, now or later."""
        known = dict(_declared_counts(app))
        for key in _find_systems(namespace, app):
            with self._lock:
                monitor = self._monitors.get(key)
            counts = {} if monitor is None else monitor.known_counts()
            known |= {stream: counts[topic] for stream, topic in _find_topics(app, key.name).items() if topic in counts}
        return known

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
        namespace = resource.key.namespace
        cluster = resolve_kafka_cluster(name, system, namespace, self._read_secret)
        answer = self._ask(namespace, ReadBackup(cluster=cluster, stream=coordinator_stream(app, name)))
        if answer.model is None or answer.epoch is None:
            return None
        return JobModelBackup(model=answer.model, epoch=answer.epoch)

    def forget(self, key: AppKey) -> None:
        """Stop watching the topics of an app that is gone."""
        self._keep(key, frozenset())

    def close(self) -> None:
        """End all threads, each after the request that it has sent."""
        self._queue.close()

    def count_monitors(self) -> int:
        """Count the sets of brokers that are watched."""
        with self._lock:
            return len(self._monitors)

    def _keep(self, app: AppKey, keys: frozenset[_MonitorKey]) -> None:
        """Note which brokers an app names; those that no app names any more are asked no more."""
        with self._lock:
            before = self._keys_of.pop(app, frozenset())
            if keys:
                self._keys_of[app] = keys
            for key in before - keys:
                if not self._monitors[key].forget(app):
                    del self._monitors[key]

    def _read_topic_counts(
        self, key: _MonitorKey, app_key: AppKey, app: StreamApp, system: KafkaSystem
    ) -> StreamCounts:
        topics = _find_topics(app, key.name)
        settings = app.spec.job.partition_monitor
        interval = settings.interval / _MILLISECONDS if settings.enabled else None
        watched = WatchedTopics(topics=frozenset(topics.values()), interval=interval)
        with self._lock:
            monitor = self._monitors.get(key)
            if monitor is None:
                counter = _TopicCounter(self._ask, self._read_secret, key, system)
                monitor = TopicPartitionMonitor(counter, self._on_change, debounce=self._debounce, clock=time.monotonic)
                self._monitors[key] = monitor
            answer = monitor.watch(app_key, watched)
        self._queue_next(key, monitor)
        if answer.known is None:
            return answer
        counts = {stream: answer.known[topic] for stream, topic in topics.items() if topic in answer.known}
        return StreamCounts(known=counts, error=answer.error)

    def _queue_next(self, key: _MonitorKey, monitor: TopicPartitionMonitor) -> None:
        due = monitor.due_in()
        if due is not None:
            self._queue.add(key, max(due, _COALESCE_SECONDS))

    def _count_topics(self) -> None:
        """Count the topics of those brokers that are due, until closed."""
        while (key := self._queue.take()) is not None:
            with self._lock:
                monitor = self._monitors.get(key)
            if monitor is not None:
                self._count_if_due(key, monitor)
                self._queue_next(key, monitor)
            self._queue.done(key)

    def _count_if_due(self, key: _MonitorKey, monitor: TopicPartitionMonitor) -> None:
        try:
            if monitor.due_in() == 0.0:
                monitor.count()
        except Exception as error:  # noqa: BLE001 - one app's brokers must not stop the counting of all others
            monitor.note_error(f"system {key.name}: its topics can't be counted: {error!r}. This is a bug")
            _log.exception("this is a bug; counting again", namespace=key.namespace, system=key.name)


class _TopicCounter:
    """A `TopicCounter` that asks the brokers of a system; secrets are read for each request."""

    def __init__(self, ask: AskBrokers, read_secret: ReadSecret, key: _MonitorKey, system: KafkaSystem) -> None:
        self._ask = ask
        self._read_secret = read_secret
        self._key = key
        self._system = system

    def count(self, topics: Sequence[str]) -> Mapping[str, int]:
        """See `TopicCounter.count`."""
        namespace = self._key.namespace
        cluster = resolve_kafka_cluster(self._key.name, self._system, namespace, self._read_secret)
        return self._ask(namespace, CountPartitions(cluster=cluster, topics=tuple(topics))).counts or {}


def _find_systems(namespace: str, app: StreamApp) -> Mapping[_MonitorKey, KafkaSystem]:
    """Return the brokers that an app of a namespace names."""
    return {
        _MonitorKey(namespace=namespace, name=name, system=system.kafka.model_dump_json()): system.kafka
        for name, system in sorted(app.spec.systems.items())
        if system.kafka is not None
    }


def _find_topics(app: StreamApp, system: str) -> Mapping[str, str]:
    """Return the topics of an app's streams in a system."""
    return {stream: spec.name or stream for stream, spec in app.spec.streams.items() if spec.system == system}


def _declared_counts(app: StreamApp) -> Mapping[str, int]:
    """Return the counts that the spec declares for streams that are not on brokers."""
    return {
        name: spec.partitions
        for name, spec in app.spec.streams.items()
        if spec.partitions is not None
        and spec.system in app.spec.systems
        and app.spec.systems[spec.system].kafka is None
    }
