"""A decoded batch: the rows and control messages that one poll fetched from one partition."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_core.control.messages import ControlMessage
from streamapp_core.control.sequence_numbers import SequenceNumber
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Headers, Message


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that can't be read, why, and its headers; they are None if they can't be read either."""

    message: Message
    reason: str
    headers: Headers | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """The result of a poll of one partition: all its rows, then the control messages between or after them.

    To apply a control message a little later than it was sent is always right; to apply it before rows that were sent
    before it never is.
    """

    ssp: Ssp
    next_offset: int
    rows: pa.Table | None
    controls: tuple[ControlMessage, ...] = ()
    sequence: tuple[SequenceNumber, ...] = ()
    """The numbers of its messages, if it is from a stream between tasks."""
    ended: bool = False
    not_used: Mapping[str, int] = field(default_factory=dict)
    """Counts of records that were left out, by reason: `unreadable` (`onError: skip`), `dead letters`, `without value`
    (deletions)."""
    bad_rows: tuple[str, ...] = ()
    """Descriptions of the unreadable ones."""
    dead_letters: tuple[DeadLetter, ...] = ()
    """The unreadable ones, where the app keeps them."""
    ungated: bool = False
    """Whether the partition waits for no other from here on (see `PartitionGate`)."""
