"""The rows of messages, and what makes them of the values of messages."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, Messages


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRows:
    """The rows of some messages, the messages that became rows, and the unreadable ones.

    `deleted` has the rows that only delete their key; None: none does.
    """

    rows: pa.Table
    messages: Messages
    bad: tuple[BadRecord, ...]
    deleted: npt.NDArray[np.bool_] | None = None


class MessageDecoder(Protocol):
    """Decodes the messages of one stream, in its format."""

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """Decode messages; those without a value are left out."""
        ...
