"""Operators that give rows away: to an intermediate stream, or to an output."""

from collections import Counter

import numpy as np
import pyarrow as pa

from streamapp_runtime.operators.protocol import TimelessOperator
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.rows.event_time import without_event_time
from streamapp_runtime.rows.partitioning import partition_numbers
from streamapp_systems.protocols import FileOutput


class PartitionBy(TimelessOperator):
    """Sends each row to the partition of its key in the operator's intermediate stream."""

    def __init__(self, writer: IntermediateWriter, stream: str, key: str, partitions: int) -> None:
        self._writer = writer
        self._stream = stream
        self._key = key
        self._partitions = partitions

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._writer.add(self._stream, rows, partition_numbers(rows.column(self._key), self._partitions))
        return None


class Broadcast(TimelessOperator):
    """Sends every row to the one partition that all tasks read."""

    def __init__(self, writer: IntermediateWriter, stream: str) -> None:
        self._writer = writer
        self._stream = stream

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._writer.add(self._stream, rows, np.zeros(len(rows), np.int64))
        return None


class SendToFile(TimelessOperator):
    """Writes rows to a file output and counts them."""

    def __init__(self, output: FileOutput, stream: str, written: Counter[str]) -> None:
        self._output = output
        self._stream = stream
        self._written = written

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._output.write(self._stream, without_event_time(rows))
        self._written[self._stream] += len(rows)
        return None
