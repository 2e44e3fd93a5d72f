"""The progress of a processor, collected from its tasks for a report."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.processor.processor_report import (
    Incarnation,
    PartitionReport,
    ProcessorReport,
    RunNotice,
    StateReport,
    WatermarkHolderReport,
    event_time,
)
from streamapp_runtime.processor.task_assembly import AssembledTasks
from streamapp_runtime.state.checkpoint import add_counts
from streamapp_runtime.state.store_size import add_sizes
from streamapp_runtime.tables.adjunct_store import AdjunctStore
from streamapp_runtime.tables.side_inputs import SideInputs


class ProcessorReportBuilder:
    """The source of reports: it asks the tasks, and the side inputs that they share, when one is due."""

    def __init__(
        self,
        incarnation: Incarnation,
        states: Mapping[str, StateReport],
        assembled: AssembledTasks,
        claims: ClaimChecker,
    ) -> None:
        self._incarnation = incarnation
        self._states = dict(states)
        self._tasks = assembled.tasks
        self._side_inputs = assembled.side_inputs
        self._claims = claims
        self._held_back: dict[str, WatermarkHolderReport] = {}

    def report(self, *, commits: int, committed: Mapping[Ssp, int], done: bool, now: int) -> ProcessorReport:
        """Return a report; `committed` are the positions of the last commit.

        `now` is the time of day in milliseconds.
        """
        partitions: dict[str, dict[int, PartitionReport]] = {}
        for side_inputs in self._side_inputs:
            for ssp, side_input in _reports(side_inputs):
                partitions.setdefault(ssp.stream, {})[ssp.partition] = side_input
        for task in self._tasks:
            for ssp, position in task.positions.items():
                report = PartitionReport(rows=position.rows, offset=position.offset, ended=task.has_ended(ssp.stream))
                partitions.setdefault(ssp.stream, {})[ssp.partition] = report
        held_back = {stream: held for stream in partitions if (held := self._holds_back(stream, now)) is not None}
        self._held_back = held_back
        return ProcessorReport(
            incarnation=self._incarnation,
            states=self._states,
            opened=True,
            partitions=partitions,
            watermarks={stream: self._watermark(stream) for stream in partitions},
            held_back=held_back,
            written=self._written(),
            not_used=self._not_used(),
            bad_rows=(
                *(row for store in self._adjunct_stores() for row in store.bad_rows),
                *(row for task in self._tasks for row in task.bad_rows),
            ),
            broken_claims=self._claims.broken(),
            file_keys=self._claims.file_keys(),
            notices=_notices(self._adjunct_stores()),
            state_sizes=add_sizes(task.state_sizes() for task in self._tasks),
            commits=commits,
            committed=_by_stream(committed),
            done=done,
        )

    def _written(self) -> dict[str, int]:
        written: Counter[str] = Counter()
        for task in self._tasks:
            written.update(task.written)
        return dict(written)

    def _adjunct_stores(self) -> Iterator[AdjunctStore]:
        return (store for side_inputs in self._side_inputs for store in side_inputs.stores)

    def _watermark(self, stream: str) -> int | None:
        watermarks = [task.watermark(stream) for task in self._tasks if task.reads(stream)]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def _holds_back(self, stream: str, now: int) -> WatermarkHolderReport | None:
        """Return which task has the lowest watermark and what holds that back, perhaps since an earlier report."""
        found = [(task.name, held) for task in self._tasks if (held := task.held_back_by(stream)) is not None]
        if not found:
            return None
        name, held = min(found, key=lambda one: event_time(one[1].watermark))
        previous = self._held_back.get(stream)
        since = previous.since if previous is not None and previous.watermark == held.watermark else now
        return WatermarkHolderReport(
            task=name, partition=held.partition, producer=held.producer, watermark=held.watermark, since=since
        )

    def _not_used(self) -> dict[str, dict[str, int]]:
        counted: dict[str, dict[str, int]] = {}
        for store in self._adjunct_stores():
            counted = add_counts(counted, {store.name: store.not_used} if store.not_used else {})
        for task in self._tasks:
            counted = add_counts(counted, task.counters())
        return counted


def _reports(side_inputs: SideInputs) -> Iterator[tuple[Ssp, PartitionReport]]:
    behind = side_inputs.bootstrap_lag()
    for ssp, position in side_inputs.positions.items():
        yield (
            ssp,
            PartitionReport(
                rows=position.rows,
                offset=position.offset,
                ended=side_inputs.has_ended(ssp),
                awaited=behind.get(ssp, 0),
            ),
        )


def _notices(stores: Iterable[AdjunctStore]) -> tuple[RunNotice, ...]:
    """Return why tables lack rows, each reason once, however many tasks have it."""
    messages = dict.fromkeys(store.incomplete for store in stores if store.incomplete)
    return tuple(RunNotice(reason=NoticeReason.TABLE_INCOMPLETE, message=message) for message in messages)


def _by_stream(offsets: Mapping[Ssp, int]) -> dict[str, dict[int, int]]:
    streams: dict[str, dict[int, int]] = {}
    for ssp, offset in offsets.items():
        streams.setdefault(ssp.stream, {})[ssp.partition] = offset
    return streams
