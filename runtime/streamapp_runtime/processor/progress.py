"""What a processor has read and written, counted for its reports."""

from collections.abc import Iterable, Sequence

import msgspec

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.inputs import Decoded
from streamapp_runtime.processor.reports import PartitionReport, ProcessorReport
from streamapp_runtime.tasks.task import Task


class Progress:
    """Counts rows per partition, and gathers the rest from the tasks when a report is due."""

    def __init__(self, processor: str, epoch: int, ssps: Iterable[Ssp], tasks: Sequence[Task]) -> None:
        self._processor = processor
        self._epoch = epoch
        self._tasks = tasks
        nothing = PartitionReport(rows=0, offset=0, ended=False)
        self._partitions = dict.fromkeys(ssps, nothing)

    def read(self, decoded: Decoded) -> None:
        """Count what was read of one partition."""
        before = self._partitions[decoded.ssp]
        rows = 0 if decoded.rows is None else len(decoded.rows)
        self._partitions[decoded.ssp] = PartitionReport(
            rows=before.rows + rows, offset=decoded.next_offset, ended=before.ended or decoded.ended
        )

    def report(self, *, written: dict[str, int], skipped: dict[str, int], commits: int, done: bool) -> ProcessorReport:
        """Make a report; `skipped` are rows of side inputs without key, by table."""
        partitions: dict[str, dict[int, PartitionReport]] = {}
        for ssp, partition in self._partitions.items():
            ended = partition.ended or self._has_ended(ssp.stream)
            partitions.setdefault(ssp.stream, {})[ssp.partition] = msgspec.structs.replace(partition, ended=ended)
        return ProcessorReport(
            processor=self._processor,
            epoch=self._epoch,
            partitions=partitions,
            watermarks={stream: self._watermark(stream) for stream in partitions},
            written=written,
            not_used=self._not_used(skipped),
            commits=commits,
            done=done,
        )

    def _has_ended(self, stream: str) -> bool:
        """Tell whether control messages have ended a stream for all tasks here that read it."""
        readers = [task for task in self._tasks if task.reads(stream)]
        return bool(readers) and all(task.has_ended(stream) for task in readers)

    def _watermark(self, stream: str) -> int | None:
        watermarks = [task.watermark(stream) for task in self._tasks if task.reads(stream)]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def _not_used(self, skipped: dict[str, int]) -> dict[str, dict[str, int]]:
        counted: dict[str, dict[str, int]] = {name: {"without key": rows} for name, rows in skipped.items() if rows}
        for task in self._tasks:
            for name, counters in task.counters().items():
                total = counted.setdefault(name, {})
                for reason, rows in counters.items():
                    total[reason] = total.get(reason, 0) + rows
        return counted
