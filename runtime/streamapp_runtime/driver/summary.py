"""The reports of all processors become one picture of the app."""

from collections import Counter
from collections.abc import Iterable, Mapping

from streamapp_core.plan.model import Plan
from streamapp_runtime.driver.records import StreamSummary, Summary
from streamapp_runtime.processor.reports import PartitionReport, ProcessorReport
from streamapp_runtime.state.checkpoint import counts_added


def summarize(
    plan: Plan, ends: Mapping[str, Mapping[int, int]], reports: Iterable[ProcessorReport], seconds: float
) -> Summary:
    """Merge reports: a partition that several processors read (a broadcast one) counts once."""
    reports = list(reports)
    read = [stream for stream in plan.streams.values() if stream.role != "output"]
    written: Counter[str] = Counter()
    not_used: dict[str, dict[str, int]] = {}
    for report in reports:
        written.update(report.written)
        not_used = counts_added(not_used, report.not_used)
    return Summary(
        streams=tuple(_stream(stream.name, stream.role, stream.partitions, ends, reports) for stream in read),
        written=dict(written),
        not_used=not_used,
        bad_rows=tuple(row for report in reports for row in report.bad_rows),
        seconds=seconds,
    )


def _stream(
    name: str,
    role: str,
    count: int,
    ends: Mapping[str, Mapping[int, int]],
    reports: list[ProcessorReport],
) -> StreamSummary:
    partitions: dict[int, PartitionReport] = {}
    for report in reports:
        for number, partition in report.partitions.get(name, {}).items():
            if number not in partitions or partition.rows >= partitions[number].rows:
                partitions[number] = partition
    watermarks = [report.watermarks[name] for report in reports if name in report.watermarks]
    known = [watermark for watermark in watermarks if watermark is not None]
    return StreamSummary(
        name=name,
        role=role,
        partitions=count,
        ended=sum(partition.ended for partition in partitions.values()),
        read=sum(partition.rows for partition in partitions.values()),
        total=sum(ends[name].values()) if name in ends else None,
        watermark=min(known) if known and len(known) == len(watermarks) else None,
    )
