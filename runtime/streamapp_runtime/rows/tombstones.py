"""Tombstones, messages without a value that delete their key, as rows with only the key (docs/adjunct-stores.md)."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import CHANGE_COLUMN, KeyFormat
from streamapp_runtime.rows.message_rows import lack_values
from streamapp_runtime.rows.partitioning import BINARY_WIDTHS
from streamapp_systems.protocols import Messages, MessageTuple

DELETED_COLUMN = "__deleted"
"""The hidden column that marks rows that delete; rows without it add."""
DELETED_FIELD = pa.field(DELETED_COLUMN, pa.bool_())


class TombstoneRow(bytes):
    """The JSON of a row that stands for a tombstone, whatever the format of other values."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The column that the keys of messages encode, by the name of its field in JSON, and their encoding."""

    field: pa.Field
    form: KeyFormat = KeyFormat.STRING


@dataclass(frozen=True, slots=True)
class KeyObject:
    """The fields of the JSON objects that the keys of messages are, in their order: values have them, too."""

    fields: tuple[str, ...]


DeletionKey = KeyColumn | KeyObject


def replace_tombstones(messages: Messages, key: DeletionKey | None) -> Messages:
    """Replace missing values by a JSON object that has only the columns that the message's key encodes.

    If none is known, the object is empty. A key that can't be the columns' values gives what is no row.
    """
    if not lack_values(messages):
        return messages
    return MessageTuple(
        m if m.value is not None else m._replace(value=TombstoneRow(_row(m.key, key))) for m in messages
    )


def with_deleted_column(rows: pa.Table, deleted: Sequence[bool] | npt.NDArray[np.bool_]) -> pa.Table:
    """Add the column that marks rows that delete."""
    return rows.append_column(DELETED_FIELD, pa.array(deleted, pa.bool_()))


def with_change_column(rows: pa.Table, *, always: bool = False) -> pa.Table:
    """Return rows as files have them: where some delete, column `__op` says `u` (the newest value) or `d` (deleted).

    It is there `always` where the history of changes is wanted.
    """
    if DELETED_COLUMN not in rows.column_names:
        return rows.append_column(CHANGE_COLUMN, pa.array(["u"] * len(rows))) if always else rows
    changes = pc.if_else(rows.column(DELETED_COLUMN), "d", "u")
    return rows.drop_columns([DELETED_COLUMN]).append_column(CHANGE_COLUMN, changes)


def _row(key: bytes | None, column: DeletionKey | None) -> bytes:
    if key is None or column is None:
        return b"{}"
    if isinstance(column, KeyObject):
        return key if _fields(key) == list(column.fields) else b"[%b]" % key
    return b"{%b:%b}" % (json.dumps(column.field.name).encode(), _json(key, column.field.type, column.form))


def _fields(key: bytes) -> list[str] | None:
    """Return the fields of a JSON object in their order; None of anything else."""
    try:
        pairs = json.loads(key, object_pairs_hook=lambda pairs: _Fields(name for name, _ in pairs))
    except (ValueError, RecursionError):
        return None
    return list(pairs) if isinstance(pairs, _Fields) else None


class _Fields(list[str]):
    """The fields of an object, told apart from lists."""


def _json(key: bytes, to: pa.DataType, form: KeyFormat) -> bytes:
    """Return a key as the JSON of a column: the inverse of `partitioning.key_bytes`."""
    if form is not KeyFormat.STRING:
        return b"%d" % int.from_bytes(key, "big", signed=True) if len(key) == BINARY_WIDTHS[form] else key
    if pa.types.is_binary(to):
        return b'"%b"' % base64.b64encode(key)
    if not pa.types.is_string(to):
        return key
    try:
        return json.dumps(key.decode()).encode()
    except UnicodeDecodeError:
        return key
