"""What a driver leaves for the Kubernetes operator: how far the app is, and where its tasks have their state."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from streamapp_core.assignment import ANY_LOCATION
from streamapp_core.deployment.driver_reports import (
    LOCALITY,
    PROGRESS,
    DriverPhase,
    LocalityReport,
    ProgressReport,
    Stall,
    StreamProgress,
)
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.plan.plan import StreamRole
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport

_ROWS = timedelta(seconds=30)
"""How often rows and watermarks are written, if nothing else changes."""
_LONG = timedelta(seconds=30)
"""A watermark is told that has stood while rows came for so long."""


class Reporter:
    """Writes the documents of one epoch, only when they change."""

    def __init__(self, store: MetadataStore, run_id: str, epoch: int, now: Callable[[], datetime]) -> None:
        self._store = store
        self._run_id = run_id
        self._epoch = epoch
        self._now = now
        self._phase = DriverPhase.STARTING
        self._since = now()
        self._written: ProgressReport | None = None
        self._written_at = self._since
        self._locality: LocalityReport | None = None
        self._located: tuple[int, Mapping[str, Incarnation]] | None = None
        self._stalls = _Stalls(now)

    def phase(self, phase: DriverPhase, message: str | None = None) -> None:
        """Say what the driver does now."""
        if phase is self._phase and self._written is not None:
            return
        self._phase, self._since = phase, self._now()
        before = {} if self._written is None else {"version": self._written.version, "streams": self._written.streams}
        self._write(self._report(message=message, **before))

    def progress(self, summary: Summary, model: JobModel, reports: Mapping[str, ProcessorReport]) -> None:
        """Say how far the app is; `reports` are the newest ones of the living processors."""
        running = sorted(
            id_ for id_, report in reports.items() if report.opened and report.incarnation.version <= model.version
        )
        report = self._report(
            version=model.version if running else None,
            running=tuple(running),
            streams=_streams(summary),
            stalled=self._stalls.look(summary),
        )
        self._write(report)
        self._note_locality(model, reports)

    def _report(self, **fields: object) -> ProgressReport:
        values = {"run_id": self._run_id, "epoch": self._epoch, "phase": self._phase, "since": self._since, **fields}
        return ProgressReport.model_validate(values)

    def _write(self, report: ProgressReport) -> None:
        before = self._written
        if report == before:
            return
        rows: dict[str, object] = {"streams": {}}
        only_rows = before is not None and report.model_copy(update=rows) == before.model_copy(update=rows)
        if only_rows and self._now() < self._written_at + _ROWS:
            return
        self._store.put(PROGRESS, report.to_bytes())
        self._written, self._written_at = report, self._now()

    def _note_locality(self, model: JobModel, reports: Mapping[str, ProcessorReport]) -> None:
        """Note where tasks have opened their state; what is not known to be open now stays as it was."""
        opened = {id_: report.incarnation for id_, report in reports.items() if report.opened}
        if self._located == (model.version, opened):
            return
        found = self._found_locality(model, [reports[id_] for id_ in opened])
        if found.locations and found != self._locality:
            self._store.put(LOCALITY, found.to_bytes())
            self._locality = found
        self._located = model.version, opened

    def _found_locality(self, model: JobModel, reports: Iterable[ProcessorReport]) -> LocalityReport:
        locations = {
            number: location
            for location, numbers in (self._locality.locations if self._locality else {}).items()
            for number in numbers
        }
        for report in reports:
            id_ = report.incarnation.processor
            processor = model.processors.get(id_)
            if processor is not None and processor.location != ANY_LOCATION:
                for task in report.states:
                    if task in model.tasks and model.tasks[task].processor == id_:
                        locations[model.tasks[task].changelog_partition] = processor.location
        by_location: dict[str, list[int]] = {}
        for number in sorted(locations):
            by_location.setdefault(locations[number], []).append(number)
        return LocalityReport(
            run_id=self._run_id,
            epoch=self._epoch,
            locations={location: tuple(numbers) for location, numbers in sorted(by_location.items())},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """A watermark that stands `since`; rows came after that, first at `began` and last at `came`."""

    watermark: int | None
    read: int
    since: datetime
    began: datetime | None = None
    came: datetime | None = None

    def seen(self, stream: StreamSummary, now: datetime) -> "_Standing":
        if stream.watermark != self.watermark:
            return _Standing(watermark=stream.watermark, read=stream.read, since=now)
        if stream.read > self.read:
            return replace(self, read=stream.read, began=self.began or now, came=now)
        return self

    @property
    def stalled(self) -> bool:
        return self.began is not None and self.came is not None and self.came - self.began >= _LONG


class _Stalls:
    """Finds streams whose watermark stands while the app goes on reading rows: not those that are merely idle.

    Side inputs have no watermark.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._standing: dict[str, _Standing] = {}

    def look(self, summary: Summary) -> tuple[Stall, ...]:
        found = []
        for stream in summary.streams:
            if stream.ended == stream.partitions or stream.role == StreamRole.SIDE_INPUT:
                continue
            now = self._now()
            fresh = _Standing(watermark=stream.watermark, read=stream.read, since=now)
            standing = self._standing[stream.name] = self._standing.get(stream.name, fresh).seen(stream, now)
            if standing.stalled:
                reason = "rows come, and none of them moves the watermark: a partition or a producer holds it back"
                found.append(Stall(stream=stream.name, since=standing.since.astimezone(UTC), reason=reason))
        return tuple(found)


def _streams(summary: Summary) -> Mapping[str, StreamProgress]:
    read = {stream.name: StreamProgress(read=stream.read, watermark=stream.watermark) for stream in summary.streams}
    return read | {name: StreamProgress(written=rows) for name, rows in summary.written.items()}
