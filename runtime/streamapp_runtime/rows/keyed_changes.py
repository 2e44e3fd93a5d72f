"""Records that are the newest rows of their keys, and those without a value, which delete them."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import KeyFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows, key_column, select_messages
from streamapp_runtime.rows.partitioning import key_bytes
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.rows.tombstones import DeletionKey, TombstoneRow, replace_tombstones
from streamapp_systems.protocols import BadRecord, Messages


class Deletions:
    """The decoder of a stream whose records without a value delete: they become rows with only their key."""

    def __init__(self, decoder: MessageDecoder, key: DeletionKey | None) -> None:
        """Take the decoder of values, and the columns that keys of records hold, if they are known."""
        self._decoder = decoder
        self._key = key

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`; none is left out."""
        replaced = replace_tombstones(messages, self._key)
        read = self._decoder.decode(replaced, ssp)
        if replaced is messages:
            return read
        deleted = np.array([isinstance(value, TombstoneRow) for value in read.messages.values], np.bool_)
        return replace(read, deleted=deleted)


class KeyedChanges:
    """The decoder of a stream of changes: the key of each record must be that of its row.

    A record without a value deletes by the record's key. If that were another one, the row would stay.
    """

    def __init__(self, decoder: MessageDecoder, of_rows: RecordKey, key: DeletionKey) -> None:
        """Take the decoder of values, the key that rows have, and the columns that the keys of records hold."""
        self._decoder = Deletions(decoder, key)
        self._key = of_rows

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`; records with another key than their row, or without one, are bad."""
        read = self._decoder.decode(messages, ssp)
        deleted = np.zeros(len(read.rows), np.bool_) if read.deleted is None else read.deleted
        read = replace(read, deleted=deleted)
        keys = key_column(read.messages)
        values = self._key.values(read.rows)
        refused = self._differ(values, keys) & ~deleted
        refused |= keys.is_null().to_numpy(zero_copy_only=False)
        if not refused.any():
            return read
        bad = [
            self._bad(ssp, read.messages[row].offset, keys[row].as_py(), values[row])
            for row in np.flatnonzero(refused).tolist()
        ]
        return MessageRows(
            rows=read.rows.filter(pa.array(~refused)),
            messages=select_messages(read.messages, np.flatnonzero(~refused)),
            bad=tuple(sorted((*read.bad, *bad), key=lambda record: record.offset)),
            deleted=deleted[~refused],
        )

    def _differ(self, column: pa.ChunkedArray, keys: pa.Array) -> npt.NDArray[np.bool_]:
        """Return where a key is not what the column's value is as a key."""
        values = column.combine_chunks()
        try:
            wanted = key_bytes(values, self._key.form)
        except OverflowError:
            wanted = pa.array([_number_bytes(value, self._key.form) for value in values.to_pylist()], pa.large_binary())
        alike = pc.fill_null(pc.equal(wanted, keys.cast(pa.large_binary())), fill_value=False)
        differ: npt.NDArray[np.bool_] = ~alike.to_numpy(zero_copy_only=False)
        return differ

    def _bad(self, ssp: Ssp, offset: int, key: bytes | None, value: pa.Scalar) -> BadRecord:
        columns = " and ".join(f"`{column}`" for column in self._key.columns)
        if key is None:
            return BadRecord(ssp, offset, f"it has no key, so nobody knows which {columns} it is about")
        is_ = f"its {columns} is {value.as_py()!r}" if len(self._key.columns) == 1 else f"its {columns} give {value}"
        return BadRecord(
            ssp,
            offset,
            f"its key is {key!r}, and {is_}: a deletion by such a key would not find its row",
        )


def _number_bytes(value: int | None, form: KeyFormat) -> bytes | None:
    """Return a number as a key; None of one that its form can't hold."""
    if value is None:
        return None
    try:
        encoded: bytes = key_bytes(pa.array([value], pa.int64()), form)[0].as_py()
    except OverflowError:
        return None
    return encoded
