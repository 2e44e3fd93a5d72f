"""What a processor writes to intermediate streams: rows gathered per partition, then control messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.control.codec import encode
from streamapp_core.control.messages import ControlMessage, UserMessage
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.event_time import latest
from streamapp_runtime.rows.ipc import encode_rows
from streamapp_systems.protocols import Producer

_GATHERED_ROWS = 100_000
_MESSAGE_ROWS = 10_000


@dataclass(slots=True)
class _Gathered:
    rows: list[pa.Table] = field(default_factory=list)
    partitions: list[npt.NDArray[np.int64]] = field(default_factory=list)
    count: int = 0


class IntermediateWriter:
    """Gathers the rows of all tasks of a processor, so that a partition gets few large messages.

    Rows of one task keep their order. Control messages follow the rows sent before them in every partition: a marker
    never overtakes data (design 7).
    """

    def __init__(self, producer: Producer, streams: Mapping[str, tuple[str, int]]) -> None:
        """Write to these intermediate streams: name -> system and partition count."""
        self._producer = producer
        self._streams = streams
        self._gathered = {stream: _Gathered() for stream in streams}

    def add(self, stream: str, rows: pa.Table, partitions: npt.NDArray[np.int64]) -> None:
        """Add rows, each for the partition at its place in `partitions`."""
        gathered = self._gathered[stream]
        gathered.rows.append(rows)
        gathered.partitions.append(partitions)
        gathered.count += len(rows)
        if gathered.count >= _GATHERED_ROWS:
            self._send_rows(stream)

    def flush(self) -> None:
        """Send all gathered rows."""
        for stream in self._streams:
            self._send_rows(stream)

    def send_control(self, stream: str, message: ControlMessage, now: int) -> None:
        """Send a control message to every partition of a stream, after the rows gathered so far."""
        self._send_rows(stream)
        system, count = self._streams[stream]
        value = encode(message)
        for partition in range(count):
            self._producer.send(Ssp(system, stream, partition), value, timestamp=now)

    def _send_rows(self, stream: str) -> None:
        gathered = self._gathered[stream]
        if not gathered.count:
            return
        self._gathered[stream] = _Gathered()
        system, count = self._streams[stream]
        partitions = np.concatenate(gathered.partitions)
        order = np.argsort(partitions, kind="stable")
        rows = pa.concat_tables(gathered.rows).combine_chunks().take(pa.array(order))
        bounds = np.searchsorted(partitions[order], np.arange(count + 1))
        for partition, (start, end) in enumerate(pairwise(bounds)):
            self._send_partition(Ssp(system, stream, partition), rows.slice(start, end - start))

    def _send_partition(self, ssp: Ssp, rows: pa.Table) -> None:
        for start in range(0, len(rows), _MESSAGE_ROWS):
            batch = rows.slice(start, _MESSAGE_ROWS).combine_chunks()
            self._producer.send(ssp, encode(UserMessage(data=encode_rows(batch))), timestamp=latest(batch) or 0)
