"""What Prometheus is told about the process."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.passes = Histogram(
            "streamapp_operator_pass_seconds",
            "Time to reconcile an app once.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.steps = Counter(
            "streamapp_operator_steps", "Changes made, by kind.", labelnames=("step",), registry=self.registry
        )
        self.failures = Counter(
            "streamapp_operator_failed_passes", "Passes that ended with an error.", ("error",), registry=self.registry
        )
        self.healed = Counter(
            "streamapp_operator_healed_objects", "Objects that the watches had missed.", registry=self.registry
        )
        self.waiting = Gauge(
            "streamapp_operator_waiting_apps", "Apps that are due to be reconciled.", registry=self.registry
        )

    def count_phases(self, phases: Callable[[], Iterable[str]]) -> None:
        """Give the number of apps in each phase whenever somebody asks; `phases` has one entry per app."""
        self.registry.register(_Phases(phases))


class _Phases(Collector):
    def __init__(self, phases: Callable[[], Iterable[str]]) -> None:
        self._phases = phases

    def collect(self) -> Iterable[Metric]:
        found: dict[str, int] = {}
        for phase in self._phases():
            found[phase] = found.get(phase, 0) + 1
        family = GaugeMetricFamily("streamapp_apps", "StreamApps, by phase.", labels=["phase"])
        for phase, number in sorted(found.items()):
            family.add_metric([phase], number)
        yield family
