"""What a processor has read and written, gathered for its reports."""

from collections.abc import Iterable, Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.inputs import Decoded
from streamapp_runtime.processor.reports import PartitionReport, ProcessorReport
from streamapp_runtime.state.checkpoint import counts_added
from streamapp_runtime.tables.table import Table
from streamapp_runtime.tasks.task import Task


class Progress:
    """Counts the rows of side inputs, and asks the tasks for the rest when a report is due."""

    def __init__(
        self,
        processor: str,
        epoch: int,
        *,
        side_inputs: Iterable[Ssp],
        tasks: Sequence[Task],
        tables: Mapping[str, Sequence[Table]],
        written: Mapping[str, int],
    ) -> None:
        self._processor = processor
        self._epoch = epoch
        self._side_inputs = dict.fromkeys(side_inputs, PartitionReport(rows=0, offset=0, ended=False))
        self._tasks = tasks
        self._tables = tables
        self._bad_rows: dict[str, list[str]] = {}
        self._written = written

    def read_side_input(self, decoded: Decoded) -> None:
        """Count what was read of one partition of a side input."""
        rows = self._side_inputs[decoded.ssp].rows + (0 if decoded.rows is None else len(decoded.rows))
        self._side_inputs[decoded.ssp] = PartitionReport(rows=rows, offset=decoded.next_offset, ended=decoded.ended)
        if decoded.bad_rows:
            self._bad_rows[decoded.ssp.stream] = [*self._bad_rows.get(decoded.ssp.stream, ()), *decoded.bad_rows]

    def report(self, *, commits: int, done: bool) -> ProcessorReport:
        """Make a report."""
        partitions: dict[str, dict[int, PartitionReport]] = {}
        for ssp, side_input in self._side_inputs.items():
            partitions.setdefault(ssp.stream, {})[ssp.partition] = side_input
        for task in self._tasks:
            for ssp, position in task.positions.items():
                report = PartitionReport(rows=position.rows, offset=position.offset, ended=task.has_ended(ssp.stream))
                partitions.setdefault(ssp.stream, {})[ssp.partition] = report
        return ProcessorReport(
            processor=self._processor,
            epoch=self._epoch,
            partitions=partitions,
            watermarks={stream: self._watermark(stream) for stream in partitions},
            written=dict(self._written),
            not_used=self._not_used(),
            bad_rows=(
                *(row for rows in self._bad_rows.values() for row in rows),
                *(row for task in self._tasks for row in task.bad_rows),
            ),
            commits=commits,
            done=done,
        )

    def _watermark(self, stream: str) -> int | None:
        watermarks = [task.watermark(stream) for task in self._tasks if task.reads(stream)]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def _not_used(self) -> dict[str, dict[str, int]]:
        skipped = {name: sum(table.skipped for table in tables) for name, tables in self._tables.items()}
        counted = {name: {"without key": rows} for name, rows in skipped.items() if rows}
        counted |= {name: {"unreadable": len(rows)} for name, rows in self._bad_rows.items()}
        for task in self._tasks:
            counted = counts_added(counted, task.counters())
        return counted
