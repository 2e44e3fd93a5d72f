"""The rows of messages, and what makes them of the values of messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, MessageColumns, Messages, MessageTuple


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


def value_column(messages: Messages) -> pa.BinaryArray | None:
    """Return the values of messages as one array; None if it can't hold so many bytes."""
    if isinstance(messages, MessageColumns):
        return messages.value_column
    return column_of_bytes(messages.values)


def column_of_bytes(values: Sequence[bytes | None]) -> pa.BinaryArray | None:
    """Return values as one array; None if it can't hold so many bytes."""
    column = pa.array(values, pa.binary())
    return column if isinstance(column, pa.BinaryArray) else None


def key_column(messages: Messages) -> pa.Array:
    """Return the keys of messages as one array of (large) binary."""
    if isinstance(messages, MessageColumns):
        return messages.key_column
    return pa.array(messages.keys, pa.large_binary())


def offset_column(messages: Messages) -> npt.NDArray[np.int64]:
    """Return the offsets of messages as one array."""
    if isinstance(messages, MessageColumns):
        return messages.offset_column
    return np.array([message.offset for message in messages], np.int64)


def timestamp_column(messages: Messages) -> npt.NDArray[np.int64]:
    """Return the timestamps of messages as one array."""
    if isinstance(messages, MessageColumns):
        return messages.timestamp_column
    return np.array(messages.timestamps, np.int64)


def lack_values(messages: Messages) -> bool:
    """Return whether some messages have no value."""
    if isinstance(messages, MessageColumns):
        return bool(messages.value_column.null_count)
    return None in messages.values


def select_messages(messages: Messages, places: npt.NDArray[np.int64]) -> Messages:
    """Return the messages at these places, which rise."""
    if isinstance(messages, MessageColumns):
        return messages.take(places)
    return MessageTuple(messages[place] for place in places.tolist())
