"""Operators that write rows: to an intermediate stream, or to an output."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from streamapp_core.plan.plan import PlannedStream
from streamapp_runtime.operators.moved_keys import MovedKeys
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.event_time_column import without_event_time
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.rows.tombstones import with_change_column
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_runtime.writing.record_check import RecordCheck
from streamapp_systems.protocols import StagedOutput


class PartitionBy(BaseOperator):
    """Sends each row to the partition of its key in the operator's intermediate stream."""

    def __init__(
        self,
        writer: IntermediateWriter,
        stream: str,
        key: RecordKey,
        written: Counter[str] | None = None,
        moved: MovedKeys | None = None,
    ) -> None:
        """Take the stream; if only other apps read it, it is an output, whose rows are counted in `written`.

        Of rows that replace each other, `moved` finds those that go to another partition than before.
        """
        self._writer = writer
        self._moved = moved
        self._stream = stream
        self._key = key
        self._written = written

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        if self._moved is not None:
            rows = self._moved.follow(rows)
        self._writer.add(self._stream, rows, self._key)
        if self._written is not None:
            self._written[self._stream] += len(rows)
        return None


class Broadcast(BaseOperator):
    """Sends every row to the one partition that all tasks read."""

    def __init__(self, writer: IntermediateWriter, stream: str) -> None:
        self._writer = writer
        self._stream = stream

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._writer.add(self._stream, rows, None)
        return None


class SendToFile(BaseOperator):
    """Writes rows to a file output and counts them."""

    def __init__(self, output: StagedOutput, stream: str, written: Counter[str], *, history: bool = False) -> None:
        """Take the output; a `history` says of each row whether it is one or deletes."""
        self._output = output
        self._history = history
        self._stream = stream
        self._written = written

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._output.write(self._stream, with_change_column(without_event_time(rows), always=self._history))
        self._written[self._stream] += len(rows)
        return None


class SendToStream(BaseOperator):
    """Writes rows as JSON messages and counts them."""

    def __init__(
        self,
        writer: OutputWriter,
        stream: PlannedStream,
        check: RecordCheck,
        *,
        spread: int,
        written: Counter[str],
        history: bool = False,
    ) -> None:
        """Take the output; without a key all rows of a task go to partition `spread`, modulo their number.

        A `history` says of each row whether it is one or deletes.
        """
        self._history = history
        self._check = check
        self._writer = writer
        self._stream = stream
        self._spread = spread
        self._written = written

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        accepted = self._check.accept(with_change_column(rows, always=True) if self._history else rows)
        if len(accepted):
            self._writer.add(self._stream, accepted, self._spread)
        self._written[self._stream.name] += len(accepted)
        return None

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return dict(self._check.refused)


class NotWritten(BaseOperator):
    """Drops the rows that every task has and another task writes."""

    def process(self, rows: pa.Table) -> pa.Table | None:  # noqa: ARG002 - the protocol's
        """See `Operator.process`."""
        return None
