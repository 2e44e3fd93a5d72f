"""A decoded batch: what one poll brought of one partition, as rows and control messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_core.control.messages import ControlMessage
from streamapp_core.ssp import Ssp


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """What a poll brought of one partition: all its rows, then the control messages that stood between or after them.

    To hear a marker a little later than it was sent is always right; to hear it before rows sent before it never is.
    """

    ssp: Ssp
    next_offset: int
    rows: pa.Table | None
    controls: tuple[ControlMessage, ...] = ()
    ended: bool = False
    not_used: Mapping[str, int] = field(default_factory=dict)
    """How many records were left out, by reason: `unreadable` (`onError: skip`), `without value` (deletions)."""
    bad_rows: tuple[str, ...] = ()
    """What is wrong with the unreadable ones."""
    ungated: bool = False
    """Whether the partition waits for no other from here on (see `PartitionGate`)."""
