"""The rows of messages, and what makes them of the values of messages."""

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, Messages


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRows:
    """The rows of some messages, the messages that became rows, and the unreadable ones."""

    rows: pa.Table
    messages: Messages
    bad: tuple[BadRecord, ...]


class MessageDecoder(Protocol):
    """Decodes the messages of one stream, in its format."""

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """Decode messages; those without a value are left out."""
        ...
