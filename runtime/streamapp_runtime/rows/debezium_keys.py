"""The keys of records that Debezium writes: an object, or a record of Avro, with the columns of a table's key."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from streamapp_core.avro.avro_schema import AvroKind, AvroSchemaError
from streamapp_core.schema import Column, Schema
from streamapp_core.spec.streams import JsonOptions
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder, WriterSchemas
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import BadRecord, Message, MessageTuple
from streamapp_systems.schema_header import HEADER

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_WRAPPED = {"schema", "payload"}
"""The fields of an object that Connect writes with its schema."""
_SHOWN = 100
"""Characters of a key in a message."""


class KeyReader(Protocol):
    """Reads the keys of records."""

    def read(self, messages: Sequence[Message], ssp: Ssp) -> MessageRows:
        """Return rows with the columns of the key, and the messages they are of, whose values are the keys."""
        ...


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
        return MessageRows(rows=read.rows, messages=read.messages, bad=(*bad, *_of_keys(read.bad)))

    def _object(self, key: bytes) -> bytes:
        fields = _fields(key)
        if fields.keys() == _WRAPPED:
            key = bytes(fields["payload"])
            fields = _fields(key)
        _check_fields(fields, self._fields)
        return key


class AvroKeys:
    """Reads keys that are records of Avro behind the id of their schema."""

    def __init__(self, columns: Sequence[Column], schemas: WriterSchemas) -> None:
        """Take the fields of a key, and the schemas that keys name."""
        self._fields = frozenset(column.name for column in columns)
        self._schemas = schemas
        self._decoder = AvroDecoder(Schema(tuple(columns)), schemas)
        self._known: dict[bytes, str] = {}

    def read(self, messages: Sequence[Message], ssp: Ssp) -> MessageRows:
        """See `KeyReader.read`."""
        read = self._decoder.decode(MessageTuple(m._replace(value=m.key) for m in messages), ssp)
        reasons = [self._reason((message.value or b"")[:HEADER]) for message in read.messages]
        if not any(reasons):
            return MessageRows(rows=read.rows, messages=read.messages, bad=tuple(_of_keys(read.bad)))
        bad = [BadRecord(ssp, m.offset, reason) for m, reason in zip(read.messages, reasons, strict=True) if reason]
        return MessageRows(
            rows=read.rows.filter([not reason for reason in reasons]),
            messages=MessageTuple(m for m, reason in zip(read.messages, reasons, strict=True) if not reason),
            bad=(*_of_keys(read.bad), *bad),
        )

    def _reason(self, header: bytes) -> str:
        """Return why keys behind a header can't be those of the table; nothing if they can."""
        if header not in self._known:
            try:
                writer = self._schemas.writer(int.from_bytes(header[1:], "big"))
                fields = [field.name for field in writer.fields] if writer.kind is AvroKind.RECORD else []
                _check_fields(fields, self._fields)
            except (AvroSchemaError, ValueError) as error:
                self._known[header] = f"its key has schema {int.from_bytes(header[1:], 'big')}: {error}"
            else:
                self._known[header] = ""
        return self._known[header]


def _check_fields(fields: Iterable[str], wanted: frozenset[str]) -> None:
    """Check that a key has the wanted fields alone: by some of its columns rows of several keys would be one."""
    if frozenset(fields) != wanted:
        raise ValueError(f"it has the fields {_listed(fields)}, and the stream's `key` is {_listed(wanted)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "none"


def _of_keys(bad: Sequence[BadRecord]) -> list[BadRecord]:
    return [BadRecord(record.ssp, record.offset, f"its key: {record.reason}") for record in bad]


def _shown(key: bytes | None) -> str:
    text = repr(key)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
