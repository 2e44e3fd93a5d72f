"""Messages without a value, which delete their key, as rows: only the key is known of them (design 8)."""

import base64
import json
from collections.abc import Sequence

import pyarrow as pa

from streamapp_systems.protocols import Messages, MessageTuple

DELETED_COLUMN = "__deleted"
"""The hidden column that tells which rows delete; rows without it add."""
DELETED_FIELD = pa.field(DELETED_COLUMN, pa.bool_())


def with_values(messages: Messages, key: pa.Field | None) -> Messages:
    """Give messages without a value one: a JSON object that has only the column that the message's key stands for.

    If none is known, the object is empty. A key that can't be the column's value gives an object that is no row.
    """
    if None not in messages.values:
        return messages
    return MessageTuple(m if m.value is not None else m._replace(value=_row(m.key, key)) for m in messages)


def marked(rows: pa.Table, deleted: Sequence[bool]) -> pa.Table:
    """Add the column that tells which rows delete."""
    return rows.append_column(DELETED_FIELD, pa.array(deleted, pa.bool_()))


def _row(key: bytes | None, column: pa.Field | None) -> bytes:
    if key is None or column is None:
        return b"{}"
    return b"{%b:%b}" % (json.dumps(column.name).encode(), _json(key, column.type))


def _json(key: bytes, to: pa.DataType) -> bytes:
    """Write a key as the JSON of a column: the inverse of `partitioning.key_texts`."""
    if pa.types.is_binary(to):
        return b'"%b"' % base64.b64encode(key)
    if not pa.types.is_string(to):
        return key
    try:
        return json.dumps(key.decode()).encode()
    except UnicodeDecodeError:
        return key
