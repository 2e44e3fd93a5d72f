"""Rows whose event times are too far ahead of the times of their records: bad records (`eventTime.maxAhead`).

The bound goes by what is stored with each record, not by a clock, so a record that is read again is judged the same.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.base import format_duration
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.event_time_column import add_event_time, event_times
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows, select_messages, timestamp_column
from streamapp_systems.protocols import BadRecord, Messages

_HIGHEST = 1 << 62
"""Milliseconds: more than any time there is, and twice that still fits."""


class BoundedEventTimes:
    """The decoder of a stream, with a bound for event times; it costs a comparison per batch."""

    def __init__(self, decoder: MessageDecoder, columns: Sequence[str], max_ahead: int) -> None:
        """Take the decoder, the columns with event times, and by how many ms they may be ahead of their records'."""
        self._decoder = decoder
        self._columns = columns
        self._max_ahead = min(max_ahead, _HIGHEST - 1)

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """Decode messages, as `MessageDecoder.decode` says; those that are too far ahead are bad."""
        read = self._decoder.decode(messages, ssp)
        if not len(read.rows):
            return read
        times, missing = event_times(add_event_time(read.rows, self._columns).select([EVENT_TIME_COLUMN]))
        written = np.minimum(timestamp_column(read.messages), _HIGHEST)
        refused = (times > written + self._max_ahead) & ~missing
        if not refused.any():
            return read
        ahead = [
            self._bad(ssp, read.messages[row].offset, int(times[row]) - int(written[row]))
            for row in np.flatnonzero(refused).tolist()
        ]
        return MessageRows(
            rows=read.rows.filter(pa.array(~refused)),
            messages=select_messages(read.messages, np.flatnonzero(~refused)),
            bad=tuple(sorted((*read.bad, *ahead), key=lambda bad: bad.offset)),
            deleted=None if read.deleted is None else read.deleted[~refused],
        )

    def _bad(self, ssp: Ssp, offset: int, ahead: int) -> BadRecord:
        names = " or ".join(f"`{column}`" for column in self._columns)
        return BadRecord(
            ssp,
            offset,
            f"{names} is {format_duration(ahead)} ahead of the record's own time, more than "
            f"spec.streams.{ssp.stream}.eventTime.maxAhead ({format_duration(self._max_ahead)})",
        )
