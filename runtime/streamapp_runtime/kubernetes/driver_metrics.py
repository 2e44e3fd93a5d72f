"""The app's metrics for Prometheus, read from the latest summary at each scrape."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streamapp_runtime.driver.run_record import Summary

_MILLISECONDS = 1_000


class SummaryCollector(Collector):
    """The metrics of one app."""

    def __init__(self, app: str, namespace: str, summary: Callable[[], Summary | None]) -> None:
        self._labels = [namespace, app]
        self._summary = summary

    def collect(self) -> Iterator[Metric]:
        """See `Collector.collect`."""
        names = ["namespace", "app"]
        read = CounterMetricFamily("streamapp_rows_read", "Rows read, by stream.", labels=[*names, "stream"])
        written = CounterMetricFamily("streamapp_rows_written", "Rows written, by stream.", labels=[*names, "stream"])
        unused = CounterMetricFamily(
            "streamapp_rows_not_used", "Rows left out, by operator and reason.", labels=[*names, "name", "reason"]
        )
        watermark = GaugeMetricFamily(
            "streamapp_watermark_seconds", "No earlier row is expected, by stream.", labels=[*names, "stream"]
        )
        misplaced = GaugeMetricFamily(
            "streamapp_rows_misplaced",
            "Rows among those checked that are not in the partition of their key, by stream.",
            labels=[*names, "stream"],
        )
        entries = GaugeMetricFamily(
            "streamapp_state_entries", "Entries of the state, by operator or table.", labels=[*names, "name"]
        )
        size = GaugeMetricFamily(
            "streamapp_state_bytes", "Bytes of the state on disk, by operator or table.", labels=[*names, "name"]
        )
        summary = self._summary()
        if summary is not None:
            for stream in summary.streams:
                read.add_metric([*self._labels, stream.name], stream.read)
                if stream.watermark is not None:
                    watermark.add_metric([*self._labels, stream.name], stream.watermark / _MILLISECONDS)
            for name, rows in summary.written.items():
                written.add_metric([*self._labels, name], rows)
            for name, reasons in summary.not_used.items():
                for reason, rows in reasons.items():
                    unused.add_metric([*self._labels, name, reason], rows)
            for stream_name, claim in summary.broken_claims.items():
                misplaced.add_metric([*self._labels, stream_name], claim.misplaced)
            for name, state in summary.state_sizes.items():
                entries.add_metric([*self._labels, name], state.entries)
                size.add_metric([*self._labels, name], state.bytes)
        yield from (read, written, unused, watermark, misplaced, entries, size)
