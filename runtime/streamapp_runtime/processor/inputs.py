"""What a processor reads: one consumer per system, and bytes or rows made into rows with an event time."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from streamapp_core.control.codec import decode
from streamapp_core.control.messages import ControlMessage, UserMessage
from streamapp_core.spec.job import OnError
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.event_time import stamp
from streamapp_runtime.rows.ipc import decode_rows
from streamapp_systems.protocols import BadRecord, Consumer, Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What a poll brought of one partition: all its rows, then the control messages that stood between or after them.

    To hear a marker a little later than it was sent is always right; to hear it before rows sent before it never is.
    """

    ssp: Ssp
    next_offset: int
    rows: pa.Table | None
    controls: tuple[ControlMessage, ...] = ()
    ended: bool = False
    bad_row: str | None = None
    """What is wrong with a row that could not be read and is left out (`onError: skip`)."""


class Inputs:
    """Reads and decodes the partitions of a processor."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        intermediate: Mapping[str, pa.Schema],
        event_times: Mapping[str, str | None],
        on_error: OnError,
    ) -> None:
        """Take consumers by system, the schemas of intermediate streams, and the event time columns of the others."""
        self._consumers = consumers
        self._intermediate = intermediate
        self._event_times = event_times
        self._skip = on_error is OnError.SKIP

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[Decoded]:
        """Bring what there is of these partitions; see `Consumer.poll`."""
        for system, consumer in self._consumers.items():
            wanted = [ssp for ssp in ssps if ssp.system == system]
            if not wanted:
                continue
            try:
                for fetched in consumer.poll(wanted, max_rows, timeout):
                    yield self._decode(fetched)
            except BadRecord as bad:
                if not self._skip:
                    raise
                yield Decoded(ssp=bad.ssp, next_offset=bad.offset + 1, rows=None, bad_row=str(bad))

    def close(self) -> None:
        """Release every consumer."""
        for consumer in self._consumers.values():
            consumer.close()

    def _decode(self, fetched: Fetched) -> Decoded:
        tables, controls = [], []
        if fetched.rows is not None and len(fetched.rows):
            rows = pa.Table.from_batches([fetched.rows])
            tables.append(stamp(rows, self._event_times[fetched.ssp.stream]))
        for message in fetched.messages:
            content = decode(message.value or b"", ssp=fetched.ssp, offset=message.offset)
            if isinstance(content, UserMessage):
                schema = self._intermediate[fetched.ssp.stream]
                tables.append(decode_rows(content.data, schema, fetched.ssp, message.offset))
            else:
                controls.append(content)
        return Decoded(
            ssp=fetched.ssp,
            next_offset=fetched.next_offset,
            rows=pa.concat_tables(tables) if tables else None,
            controls=tuple(controls),
            ended=fetched.ended,
        )
