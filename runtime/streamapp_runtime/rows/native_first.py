"""Rows of messages by the native library first; another decoder judges those messages that it isn't sure of."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.rows.message_rows import MessageRows, column_of_bytes, offset_column, select_messages
from streamapp_systems.native.decoded_messages import MessageKind, NativeDecodingError, NativeRows
from streamapp_systems.protocols import Messages

Mask = npt.NDArray[np.bool_]


class ValueReader(Protocol):
    """Reads the values that were written with one schema."""

    def read(self, values: Sequence[bytes], header: int = 0) -> tuple[pa.Table, Mask, Mapping[int, str]]:
        """Return the rows of the values that can be read, which these are, and why the others, by number, can't."""
        ...


class NativeDecoder(Protocol):
    """Makes rows of the values behind a header, of those that it is sure of."""

    def decode(self, values: pa.BinaryArray, header: bytes = b"") -> NativeRows | None:
        """Return the rows; None if another decoder has to read all values."""
        ...


class NativeFirstReader:
    """Reads the values that were written with one schema."""

    def __init__(self, native: NativeDecoder, reader: ValueReader) -> None:
        """Take the decoder in C, and what reads the values that it isn't sure of, or says why they can't be read."""
        self._native = native
        self._reader = reader

    def read_sure(self, values: pa.BinaryArray, header: bytes) -> NativeRows | None:
        """See `NativeDecoder.decode`."""
        return self._native.decode(values, header)

    def read(self, values: Sequence[bytes], header: int = 0) -> tuple[pa.Table, Mask, Mapping[int, str]]:
        """See `ValueReader.read`; all values have the same header."""
        column = column_of_bytes(values) if values else None
        found = None if column is None else self._native.decode(column, values[0][:header])
        if found is None:
            return self._reader.read(values, header)
        kept = found.kinds == MessageKind.ROW
        if kept.all():
            return found.rows, kept, {}
        sure, unsure = np.flatnonzero(kept), np.flatnonzero(~kept)
        rows, readable, why = self._reader.read([values[place] for place in unsure.tolist()], header)
        kept[unsure] = readable
        reasons = {int(unsure[number]): reason for number, reason in why.items()}
        return _joined(found.rows, rows, np.concatenate((sure, unsure[readable]))), kept, reasons


def native_first(native: Callable[[], NativeDecoder], reader: ValueReader) -> ValueReader:
    """Return what has the decoder in C, where that can be made, read before another reader."""
    try:
        return NativeFirstReader(native(), reader)
    except NativeDecodingError:
        return reader


def complete_rows(found: NativeRows, messages: Messages, judge: Callable[[Messages], MessageRows]) -> MessageRows:
    """Return the rows of messages, those included that `judge` makes of what the library isn't sure of."""
    if len(found.rows) == len(messages):
        return MessageRows(rows=found.rows, messages=messages, bad=())
    sure = np.flatnonzero(found.kinds == MessageKind.ROW)
    unsure = np.flatnonzero(found.kinds == MessageKind.UNSURE)
    if not len(unsure):
        return MessageRows(rows=found.rows, messages=select_messages(messages, sure), bad=())
    left = select_messages(messages, unsure)
    judged = judge(left)
    bad = np.array([record.offset for record in judged.bad], np.int64)
    places = np.concatenate((sure, unsure[~np.isin(offset_column(left), bad)]))
    return MessageRows(
        rows=_joined(found.rows, judged.rows, places),
        messages=select_messages(messages, np.sort(places)),
        bad=judged.bad,
    )


def _joined(rows: pa.Table, more: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    """Return rows, and more behind them, in the order of their places."""
    return pa.concat_tables([rows, more]).combine_chunks().take(np.argsort(places))
