"""The documents that a driver writes for the Kubernetes operator: progress, and the locality of its tasks."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from streamapp_core.assignment import ANY_LOCATION
from streamapp_core.deployment.app_documents import DocumentUnreadableError
from streamapp_core.deployment.driver_reports import (
    LOCALITY,
    PROGRESS,
    BrokenClaim,
    DriverPhase,
    LocalityReport,
    Notice,
    ProgressReport,
    Stall,
    StateSize,
    StreamProgress,
)
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.plan.plan import StreamRole
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport

_ROWS = timedelta(seconds=30)
"""The interval at which rows, watermarks and sizes of state are written, if nothing else changes."""
_STALL = timedelta(seconds=30)
"""A watermark that has not moved while rows came for so long is reported."""


class ProgressReporter:
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
        self._stalls = _StallDetector(now)
        self._broken = _known_broken_claims(store, run_id)

    def phase(self, phase: DriverPhase, message: str | None = None) -> None:
        """Write the phase of the driver, and the reason of a failure, if that was not written yet."""
        if phase is not self._phase:
            self._phase, self._since = phase, self._now()
        written = self._written
        if written is not None and written.phase is phase:
            return
        kept: dict[str, object] = {}
        if written is not None:
            kept = {"version": written.version, "streams": written.streams}
            kept |= {"state": written.state, "notices": written.notices}
        self._write(self._report(message=message, **kept))

    def progress(self, summary: Summary, model: JobModel, reports: Mapping[str, ProcessorReport]) -> None:
        """Write how far the app is; `reports` are the latest ones of the living processors."""
        running = sorted(
            id_ for id_, report in reports.items() if report.opened and report.incarnation.version <= model.version
        )
        self._note_broken_claims(summary)
        report = self._report(
            version=model.version if running else None,
            running=tuple(running),
            streams=_streams(summary),
            state={
                name: StateSize(entries=size.entries, bytes=size.bytes) for name, size in summary.state_sizes.items()
            },
            stalled=self._stalls.find(summary),
            notices=_notices(summary),
        )
        self._write(report)
        self._note_locality(model, reports)

    def _report(self, **fields: object) -> ProgressReport:
        values = {"run_id": self._run_id, "epoch": self._epoch, "phase": self._phase, "since": self._since, **fields}
        claims = tuple(BrokenClaim(stream=stream, example=example) for stream, example in sorted(self._broken.items()))
        return ProgressReport.model_validate({"broken_claims": claims, **values})

    def _note_broken_claims(self, summary: Summary) -> None:
        """Keep each stream's first example for the whole run: results stay wrong, whatever is read after that."""
        for stream, claim in summary.broken_claims.items():
            self._broken.setdefault(stream, claim.example)

    def _write(self, report: ProgressReport) -> None:
        previous = self._written
        if report == previous:
            return
        rows: dict[str, object] = {"streams": {}, "state": {}}
        only_rows = previous is not None and report.model_copy(update=rows) == previous.model_copy(update=rows)
        if only_rows and self._now() < self._written_at + _ROWS:
            return
        self._store.put(PROGRESS, report.to_bytes())
        self._written, self._written_at = report, self._now()

    def _note_locality(self, model: JobModel, reports: Mapping[str, ProcessorReport]) -> None:
        """Write where tasks have opened their state; of tasks that are not open now the last location stays."""
        opened = {id_: report.incarnation for id_, report in reports.items() if report.opened}
        if self._located == (model.version, opened):
            return
        found = self._merged_locality(model, [reports[id_] for id_ in opened])
        if found.locations and found != self._locality:
            self._store.put(LOCALITY, found.to_bytes())
            self._locality = found
        self._located = model.version, opened

    def _merged_locality(self, model: JobModel, reports: Iterable[ProcessorReport]) -> LocalityReport:
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
class _WatermarkPause:
    """A watermark that has not moved `since`; rows came after that, first at `began` and last at `came`."""

    watermark: int | None
    read: int
    since: datetime
    began: datetime | None = None
    came: datetime | None = None

    def seen(self, stream: StreamSummary, now: datetime) -> "_WatermarkPause":
        if stream.watermark != self.watermark:
            return _WatermarkPause(watermark=stream.watermark, read=stream.read, since=now)
        if stream.read > self.read:
            return replace(self, read=stream.read, began=self.began or now, came=now)
        return self

    @property
    def stalled(self) -> bool:
        return self.began is not None and self.came is not None and self.came - self.began >= _STALL


class _StallDetector:
    """Finds streams whose watermark does not move while the app reads rows: not those that are merely idle.

    Side inputs have no watermark.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._pauses: dict[str, _WatermarkPause] = {}

    def find(self, summary: Summary) -> tuple[Stall, ...]:
        found = []
        for stream in summary.streams:
            if stream.ended == stream.partitions or stream.role == StreamRole.SIDE_INPUT:
                continue
            now = self._now()
            fresh = _WatermarkPause(watermark=stream.watermark, read=stream.read, since=now)
            pause = self._pauses[stream.name] = self._pauses.get(stream.name, fresh).seen(stream, now)
            if pause.stalled:
                reason = "rows come, and none of them moves the watermark: a partition or a producer holds it back"
                found.append(Stall(stream=stream.name, since=pause.since.astimezone(UTC), reason=reason))
        return tuple(found)


def _known_broken_claims(store: MetadataStore, run_id: str) -> dict[str, str]:
    """Return what earlier epochs of the run have found, by stream."""
    with suppress(DocumentUnreadableError):
        report = ProgressReport.read(store, PROGRESS)
        if report is not None and report.run_id == run_id:
            return {claim.stream: claim.example for claim in report.broken_claims}
    return {}


def _notices(summary: Summary) -> tuple[Notice, ...]:
    return tuple(Notice(reason=notice.reason, message=notice.message) for notice in summary.notices)


def _streams(summary: Summary) -> Mapping[str, StreamProgress]:
    read = {stream.name: StreamProgress(read=stream.read, watermark=stream.watermark) for stream in summary.streams}
    return read | {name: StreamProgress(written=rows) for name, rows in summary.written.items()}
