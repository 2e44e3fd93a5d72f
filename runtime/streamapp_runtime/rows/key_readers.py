"""Reading the keys of records as rows with the columns of a stream's key."""

from collections.abc import Sequence
from typing import Protocol

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.protocols import BadRecord, Message


class KeyReader(Protocol):
    """Reads the keys of records."""

    def read(self, messages: Sequence[Message], ssp: Ssp) -> MessageRows:
        """Return rows with the columns of the key, and the messages they are of, whose values are the keys."""
        ...


def problems_of_keys(bad: Sequence[BadRecord]) -> list[BadRecord]:
    """Return the same bad records, whose reasons say that they are about keys."""
    return [BadRecord(record.ssp, record.offset, f"its key: {record.reason}") for record in bad]
