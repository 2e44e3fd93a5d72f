"""The summary of an app, merged from the reports of all its processors."""

from collections import Counter
from collections.abc import Iterable

from streamapp_core.plan.plan import Plan, PlannedStream
from streamapp_runtime.driver.run_record import RunRecord, StateSummary, StreamSummary, Summary
from streamapp_runtime.driver.split_keys import find_split_keys
from streamapp_runtime.processor.processor_report import (
    BrokenClaimReport,
    PartitionReport,
    ProcessorReport,
    event_time,
)
from streamapp_runtime.state.checkpoint import add_counts
from streamapp_runtime.state.store_size import add_sizes


def summarize(plan: Plan, record: RunRecord, reports: Iterable[ProcessorReport], seconds: float) -> Summary:
    """Merge reports: a partition that several processors read (a broadcast one) counts once.

    The run reads its streams from its starts on, and bounded ones to its ends.
    """
    reports = list(reports)
    read = [stream for stream in plan.streams.values() if stream.role != "output" and stream.consumers]
    written: Counter[str] = Counter()
    for report in reports:
        written.update(report.written)
    totals = {
        name: sum(max(0, end - record.starts.get(name, {}).get(partition, 0)) for partition, end in partitions.items())
        for name, partitions in record.ends.items()
    }
    versions = {name: taken.version for name, taken in record.side_inputs.items() if not taken.files}
    streams = tuple(_stream(s, totals.get(s.name), versions.get(s.name, ""), reports) for s in read)
    return Summary(
        streams=streams,
        written=dict(written),
        not_used=_not_used(plan, reports),
        bad_rows=_bad_rows(reports),
        seconds=seconds,
        state=_state(reports),
        held_back_by=_held_back_by(plan, streams),
        broken_claims=_broken_claims(plan, reports),
        notices=tuple(dict.fromkeys(notice for report in reports for notice in report.notices)),
        state_sizes=add_sizes(report.state_sizes for report in reports),
    )


def _held_back_by(plan: Plan, streams: Iterable[StreamSummary]) -> dict[str, str]:
    """Name for each operator the stream that holds its watermark back, if one does."""
    held = {stream.name: event_time(stream.held_back.watermark) for stream in streams if stream.held_back is not None}
    reaching = {name: held.keys() & operator.streams for name, operator in plan.operators.items()}
    return {operator: min(sorted(names), key=held.__getitem__) for operator, names in reaching.items() if names}


def _state(reports: list[ProcessorReport]) -> StateSummary:
    tasks = {task: state for report in reports for task, state in report.states.items()}.values()
    return StateSummary(
        kept=sum(state.kept for state in tasks),
        rebuilt=sum(not state.kept and state.records + state.left > 0 for state in tasks),
        records=sum(state.records for state in tasks),
        left=sum(state.left for state in tasks),
    )


def _not_used(plan: Plan, reports: list[ProcessorReport]) -> dict[str, dict[str, int]]:
    """Add counts; every processor leaves the same rows out of a broadcast table."""
    own: dict[str, dict[str, int]] = {}
    shared: dict[str, Counter[str]] = {name: Counter() for name, table in plan.tables.items() if table.broadcast}
    for report in reports:
        own = add_counts(own, {name: counts for name, counts in report.not_used.items() if name not in shared})
        for name in shared:
            shared[name] |= Counter(report.not_used.get(name, {}))
    return own | {name: dict(counts) for name, counts in shared.items() if counts}


def _bad_rows(reports: list[ProcessorReport]) -> tuple[str, ...]:
    """Collect the bad rows of the reports; what several report is a row that all of these processors have read."""
    found: list[str] = []
    for report in reports:
        known = frozenset(found)
        found += [row for row in report.bad_rows if row not in known]
    return tuple(found)


def _broken_claims(plan: Plan, reports: list[ProcessorReport]) -> dict[str, BrokenClaimReport]:
    """Add what the processors found, each by itself and by comparison, with the first example."""
    found: dict[str, BrokenClaimReport] = {}
    for claims in (*(report.broken_claims for report in reports), find_split_keys(plan, reports)):
        for stream, claim in claims.items():
            known = found.get(stream, BrokenClaimReport(checked=0, misplaced=0, example=claim.example))
            found[stream] = BrokenClaimReport(
                checked=known.checked + claim.checked,
                misplaced=known.misplaced + claim.misplaced,
                example=known.example,
            )
    return found


def _stream(stream: PlannedStream, total: int | None, version: str, reports: list[ProcessorReport]) -> StreamSummary:
    name = stream.name
    partitions: dict[int, PartitionReport] = {}
    awaited: dict[int, int] = {}
    for report in reports:
        for number, partition in report.partitions.get(name, {}).items():
            if number not in partitions or partition.rows >= partitions[number].rows:
                partitions[number] = partition
            awaited[number] = max(partition.awaited, awaited.get(number, 0))
    watermarks = [report.watermarks[name] for report in reports if name in report.watermarks]
    known = [watermark for watermark in watermarks if watermark is not None]
    return StreamSummary(
        name=name,
        role=stream.role,
        partitions=stream.partitions,
        ended=sum(partition.ended for partition in partitions.values()),
        read=sum(partition.rows for partition in partitions.values()),
        total=total,
        watermark=min(known) if known and len(known) == len(watermarks) else None,
        awaited=sum(awaited.values()),
        version=version,
        held_back=min(
            (report.held_back[name] for report in reports if name in report.held_back),
            key=lambda held: (event_time(held.watermark), held.since),
            default=None,
        ),
    )
