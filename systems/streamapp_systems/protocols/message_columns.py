"""Messages as columns: no Python object for each, until one is asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.protocols.record_messages import Headers, Message

Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageColumns:
    """Messages of one partition, in order: columns of one length, offsets rising.

    A null in `value_column` or `key_column` is a record without a value or a key. `header_column` has the headers of
    each record as `decode_headers` reads them, null where there are none; it is None if no record has any.
    """

    offset_column: Integers
    timestamp_column: Integers
    key_column: pa.BinaryArray
    value_column: pa.BinaryArray
    header_column: pa.BinaryArray | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.timestamp_column), len(self.key_column), len(self.value_column)}
        if self.header_column is not None:
            lengths.add(len(self.header_column))
        if lengths != {len(self.offset_column)}:
            raise ValueError(f"columns of {len(self.offset_column)} offsets are of the lengths {sorted(lengths)}")

    @property
    def first_offset(self) -> int:
        """The offset of the first one; there is one."""
        return int(self.offset_column[0])

    @property
    def last_offset(self) -> int:
        """The offset of the last one; there is one."""
        return int(self.offset_column[-1])

    @property
    def value_bytes(self) -> int:
        """The bytes of all values."""
        column = self.value_column
        ends = np.frombuffer(column.buffers()[1], np.int32)
        return int(ends[column.offset + len(column)] - ends[column.offset])

    @property
    def values(self) -> list[bytes | None]:
        """See `Messages.values`."""
        values: list[bytes | None] = self.value_column.to_pylist()
        return values

    @property
    def keys(self) -> list[bytes | None]:
        """See `Messages.keys`."""
        keys: list[bytes | None] = self.key_column.to_pylist()
        return keys

    @property
    def timestamps(self) -> list[int]:
        """See `Messages.timestamps`."""
        timestamps: list[int] = self.timestamp_column.tolist()
        return timestamps

    def headers(self, at: int) -> Headers | None:
        """See `Messages.headers`."""
        if self.header_column is None:
            return ()
        encoded = self.header_column[at].as_py()
        return () if encoded is None else decode_headers(encoded)

    def between(self, begin: int, end: int) -> "MessageColumns":
        """See `Messages.between`."""
        first, last = np.searchsorted(self.offset_column, (begin, end)).tolist()
        return self.slice(first, max(last, first))

    def take(self, places: Integers) -> "MessageColumns":
        """Return the messages at these places, which rise."""
        taken, headers = pa.array(places), self.header_column
        return MessageColumns(
            offset_column=self.offset_column[places],
            timestamp_column=self.timestamp_column[places],
            key_column=self.key_column.take(taken),
            value_column=self.value_column.take(taken),
            header_column=None if headers is None else headers.take(taken),
        )

    def slice(self, first: int, last: int) -> "MessageColumns":
        """Return the messages from one place on and before another; nothing is copied."""
        headers = self.header_column
        return MessageColumns(
            offset_column=self.offset_column[first:last],
            timestamp_column=self.timestamp_column[first:last],
            key_column=self.key_column[first:last],
            value_column=self.value_column[first:last],
            header_column=None if headers is None else headers[first:last],
        )

    def joined(self, more: "Sequence[MessageColumns]") -> "MessageColumns":
        """Return these messages and more, which follow them, as one.

        Raises:
            pyarrow.ArrowInvalid: a column would have 2 GB and more.
        """
        runs = (self, *more)
        headers = [run.header_column for run in runs]
        return MessageColumns(
            offset_column=np.concatenate([run.offset_column for run in runs]),
            timestamp_column=np.concatenate([run.timestamp_column for run in runs]),
            key_column=pa.concat_arrays([run.key_column for run in runs]),
            value_column=pa.concat_arrays([run.value_column for run in runs]),
            header_column=None
            if all(column is None for column in headers)
            else pa.concat_arrays(
                [
                    pa.nulls(len(run), pa.binary()) if column is None else column
                    for run, column in zip(runs, headers, strict=True)
                ]
            ),
        )

    def __len__(self) -> int:
        return len(self.offset_column)

    def __iter__(self) -> Iterator[Message]:
        return map(Message, self.offset_column.tolist(), self.timestamps, self.keys, self.values)

    def __getitem__(self, at: int) -> Message:
        key, value = self.key_column[at].as_py(), self.value_column[at].as_py()
        return Message(int(self.offset_column[at]), int(self.timestamp_column[at]), key, value)


_LENGTH = 4
"""Bytes of a length before a name or a value: a signed integer, the lowest byte first. A value of -1 bytes is null."""


def encode_headers(headers: Headers) -> bytes:
    """Return headers as one text of bytes: length and bytes of each name and value, by turns."""
    parts = [part for name, value in headers for part in (name.encode(), value)]
    return b"".join(_length(-1) if part is None else _length(len(part)) + part for part in parts)


def decode_headers(encoded: bytes) -> Headers | None:
    """Return the headers; None if a name is no UTF-8."""
    parts: list[bytes | None] = []
    at = 0
    while at < len(encoded):
        begin = at + _LENGTH
        length = int.from_bytes(encoded[at:begin], "little", signed=True)
        at = begin + max(length, 0)
        parts.append(None if length < 0 else encoded[begin:at])
    try:
        return tuple(((name or b"").decode(), value) for name, value in zip(parts[::2], parts[1::2], strict=True))
    except UnicodeDecodeError:
        return None


def _length(count: int) -> bytes:
    return count.to_bytes(_LENGTH, "little", signed=True)
