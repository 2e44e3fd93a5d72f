"""Operators that give rows away: to an intermediate stream, or to an output."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.model import PlannedStream
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.ssp import Ssp
from streamapp_runtime.operators.protocol import TimelessOperator
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.rows.event_time import without_event_time
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_runtime.rows.partitioning import key_texts, partition_numbers
from streamapp_systems.protocols import FileOutput, Producer


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


class SendToStream(TimelessOperator):
    """Writes rows as JSON messages to the partitions of their keys and counts them.

    A message's timestamp is the event time of its row; rows without one have the time of day.
    """

    def __init__(
        self,
        producer: Producer,
        stream: PlannedStream,
        *,
        spread: int,
        written: Counter[str],
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the output; without a key all rows of a task go to partition `spread`, modulo their number."""
        self._producer = producer
        self._stream = stream
        self._spread = spread % stream.partitions
        self._written = written
        self._time_of_day = time_of_day

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        stream, key = self._stream, self._stream.key
        keys: list[bytes | None] = [None] * len(rows)
        partitions = np.full(len(rows), self._spread)
        if key is not None:
            column = rows.column(key)
            keys = key_texts(column.combine_chunks()).to_pylist()
            partitions = partition_numbers(column, stream.partitions)
        times = pc.fill_null(rows.column(EVENT_TIME_COLUMN), self._time_of_day()).to_numpy().tolist()
        records = list(zip(times, keys, encode_json(without_event_time(rows)), strict=True))
        for partition in np.unique(partitions).tolist():
            here = np.flatnonzero(partitions == partition).tolist()
            self._producer.send_all(Ssp(stream.system, stream.name, partition), [records[row] for row in here])
        self._written[stream.name] += len(rows)
        return None
