"""The keys of records that Debezium writes in JSON: objects with the columns of a table's key."""

from collections.abc import Sequence

import msgspec

from streamapp_core.schema import Column, Schema
from streamapp_core.schema_mismatch import check_key_fields
from streamapp_core.spec.streams import JsonOptions
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.key_readers import problems_of_keys
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import BadRecord, Message, MessageTuple

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_WRAPPED = {"schema", "payload"}
"""The fields of an object that Connect writes with its schema."""
_SHOWN = 100
"""Characters of a key in a message."""


class JsonKeys:
    """Reads keys that are objects, with or without Connect's schema."""

    def __init__(self, columns: Sequence[Column], options: JsonOptions, time_zone: str) -> None:
        """Take the fields of a key, how timestamps are written, and the zone of texts without one."""
        self._fields = frozenset(column.name for column in columns)
        self._decoder = JsonDecoder(arrow_schema(Schema(tuple(columns))), (), options, time_zone)

    def read(self, messages: Sequence[Message], ssp: Ssp) -> MessageRows:
        """See `KeyReader.read`."""
        keys, bad = [], []
        for message in messages:
            try:
                keys.append(message._replace(value=self._object(message.key or b"")))
            except (ValueError, RecursionError) as error:
                bad.append(BadRecord(ssp, message.offset, f"its key is {_shown(message.key)}: {error}"))
        read = self._decoder.decode(MessageTuple(keys), ssp)
        return MessageRows(rows=read.rows, messages=read.messages, bad=(*bad, *problems_of_keys(read.bad)))

    def _object(self, key: bytes) -> bytes:
        fields = _fields(key)
        if fields.keys() == _WRAPPED:
            key = bytes(fields["payload"])
            fields = _fields(key)
        check_key_fields(fields, self._fields)
        return key


def _shown(key: bytes | None) -> str:
    text = repr(key)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
