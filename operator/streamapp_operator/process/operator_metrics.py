"""The metrics of the Kubernetes operator, for Prometheus."""

from collections import Counter as Counts
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class OperatorMetrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.reconcile_seconds = Histogram(
            "streamapp_operator_reconcile_seconds",
            "Seconds of one reconcile of an app.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.actions = Counter(
            "streamapp_operator_actions",
            "Actions carried out, by kind.",
            labelnames=("action",),
            registry=self.registry,
        )
        self.errors = Counter(
            "streamapp_operator_reconcile_errors",
            "Reconciles that ended with an error, by error.",
            ("error",),
            registry=self.registry,
        )
        self.missed_objects = Counter(
            "streamapp_operator_resync_missed_objects",
            "Objects whose changes the watches missed and a resync found.",
            registry=self.registry,
        )
        self.queue_depth = Gauge(
            "streamapp_operator_workqueue_depth", "Apps in the work queue that are due.", registry=self.registry
        )

        self.leader = Gauge(
            "streamapp_operator_leader", "Whether this operator acts (1), or stands by (0).", registry=self.registry
        )

    def register_phases(self, list_phases: Callable[[], Iterable[str]]) -> None:
        """Count the apps in each phase at every scrape; `list_phases` returns one entry per app."""
        self.registry.register(_PhaseCollector(list_phases))


class _PhaseCollector(Collector):
    def __init__(self, list_phases: Callable[[], Iterable[str]]) -> None:
        self._list_phases = list_phases

    def collect(self) -> Iterable[Metric]:
        counts = Counts(self._list_phases())
        family = GaugeMetricFamily("streamapp_apps", "StreamApps, by phase.", labels=["phase"])
        for phase, number in sorted(counts.items()):
            family.add_metric([phase], number)
        yield family
