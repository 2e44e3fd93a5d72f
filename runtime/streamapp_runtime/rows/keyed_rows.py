"""Records whose keys have a format of their own, such as Avro: each must be the key of its row."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.key_readers import KeyReader
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows
from streamapp_systems.protocols import BadRecord, Messages, MessageTuple

_NO_KEY = "it has no key, and the stream's `key` says that each record has one"


class KeyedRows:
    """The decoder of a stream whose keys are read for themselves: rows with other key columns are bad records.

    A partition is that of a record's key. So rows that are equal in the key's columns are in one partition only if each
    has them from its key, and a deletion finds its row only then.
    """

    def __init__(self, decoder: MessageDecoder, keys: KeyReader, schema: pa.Schema, *, deletes: bool) -> None:
        """Take the decoder of values, what reads keys, and the columns of rows.

        Where a record without a value `deletes`, it becomes a row with only its key; elsewhere it is left out.
        """
        self._decoder = decoder
        self._keys = keys
        self._schema = schema
        self._deletes = deletes

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`."""
        every = MessageTuple(m for m in messages if self._deletes or m.value is not None)
        values = self._decoder.decode(MessageTuple(m for m in every if m.value is not None), ssp)
        keys = self._keys.read([m for m in every if m.key is not None], ssp)
        reasons = {m.offset: _NO_KEY for m in every if m.key is None}
        reasons |= {record.offset: record.reason for record in (*keys.bad, *values.bad)}
        row_of = {m.offset: row for row, m in enumerate(values.messages)}
        key_of = {m.offset: row for row, m in enumerate(keys.messages)}
        read = MessageTuple(m for m in every if m.offset not in reasons)
        places = pa.array([row_of.get(m.offset) for m in read], pa.int64())
        rows = values.rows.take(places)
        keyed = keys.rows.take(pa.array([key_of[m.offset] for m in read], pa.int64()))
        deleted = places.is_null().to_numpy(zero_copy_only=False)
        wrong = self._find_differing(rows, keyed, deleted)
        reasons |= {read[row].offset: reason for row, reason in wrong.items()}
        kept = np.array([row not in wrong for row in range(len(read))], np.bool_)
        return MessageRows(
            rows=self._with_keys(rows, keyed, deleted).filter(pa.array(kept)),
            messages=MessageTuple(m for m in read if m.offset not in reasons),
            bad=tuple(BadRecord(ssp, offset, reasons[offset]) for offset in sorted(reasons)),
            deleted=deleted[kept] if self._deletes else None,
        )

    def _find_differing(self, rows: pa.Table, keys: pa.Table, deleted: np.ndarray) -> dict[int, str]:
        """Find rows with another key than their record, and say how they differ."""
        wrong: dict[int, str] = {}
        for name in keys.column_names:
            of_key, of_row = keys.column(name), rows.column(name)
            for row in np.flatnonzero(~_alike(of_key, of_row) & ~deleted).tolist():
                wrong[row] = (
                    f"its key has `{name}` {of_key[row].as_py()!r}, and its row {of_row[row].as_py()!r}: rows with one "
                    "key are found by the keys of records"
                )
        return wrong

    def _with_keys(self, rows: pa.Table, keys: pa.Table, deleted: np.ndarray) -> pa.Table:
        """Return the rows, of which those that delete have the columns of their key."""
        if not deleted.any():
            return rows
        gone = pa.array(deleted)
        columns = [
            pc.if_else(gone, keys.column(field.name), rows.column(field.name))
            if field.name in keys.column_names
            else rows.column(field.name)
            for field in self._schema
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)


def _alike(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray:
    """Return where values are equal or both null."""
    equal = pc.fill_null(pc.equal(left, right), fill_value=False)
    alike: np.ndarray = pc.or_(equal, pc.and_(left.is_null(), right.is_null())).to_numpy()
    return alike
