"""Keys of records that are Avro: read by the schemas that they name, written by one that a registry has."""

import json
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from streamapp_core.avro.avro_key_schemas import record_of_key
from streamapp_core.avro.avro_schema import AvroKind, AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.schema import Column, Schema
from streamapp_core.schema_mismatch import check_key_fields
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder, WriterSchemas
from streamapp_runtime.rows.key_readers import problems_of_keys
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.avro.avro_encoding import AvroRowWriter
from streamapp_systems.floating_keys import unify_floats
from streamapp_systems.protocols import BadRecord, Message, MessageTuple
from streamapp_systems.schema_header import HEADER, header_of


class AvroKeys:
    """Reads keys of Avro behind the id of their schema: records, or of one column a plain value."""

    def __init__(
        self, columns: Sequence[Column], schemas: WriterSchemas, *, one_schema: bool = False, first: int | None = None
    ) -> None:
        """Take the fields of a key, and the schemas that keys name.

        Where all have `one_schema`, keys of another one than the `first`, or if that is not known the first that is
        read, are bad: the id is a part of the key, so that a row may be in another partition than the earlier ones of
        its key, and what is compacted takes the two for rows of two keys.
        """
        self._one_schema = one_schema
        self._first = None if first is None else header_of(first)
        self._fields = frozenset(column.name for column in columns)
        self._schemas = _KeySchemas(schemas, columns[0].name) if len(columns) == 1 else schemas
        self._decoder = AvroDecoder(Schema(tuple(columns)), self._schemas)
        self._known: dict[bytes, str] = {}

    def read(self, messages: Sequence[Message], ssp: Ssp) -> MessageRows:
        """See `KeyReader.read`."""
        read = self._decoder.decode(MessageTuple(m._replace(value=m.key) for m in messages), ssp)
        reasons = [self._reason((message.value or b"")[:HEADER]) for message in read.messages]
        if not any(reasons):
            return MessageRows(rows=read.rows, messages=read.messages, bad=tuple(problems_of_keys(read.bad)))
        bad = [BadRecord(ssp, m.offset, reason) for m, reason in zip(read.messages, reasons, strict=True) if reason]
        return MessageRows(
            rows=read.rows.filter([not reason for reason in reasons]),
            messages=MessageTuple(m for m, reason in zip(read.messages, reasons, strict=True) if not reason),
            bad=(*problems_of_keys(read.bad), *bad),
        )

    def _reason(self, header: bytes) -> str:
        """Return why keys behind a header can't be those of the table; nothing if they can."""
        if header not in self._known:
            first = self._first or next((known for known, reason in self._known.items() if not reason), header)
            if self._one_schema and header != first:
                return (
                    f"its key has schema {int.from_bytes(header[1:], 'big')}, and earlier ones have schema "
                    f"{int.from_bytes(first[1:], 'big')}: the id is a part of a key, so that the rows of one key may "
                    "be in two partitions, or stay when they are deleted. Write the topic again with one schema of "
                    "keys, and begin a new run"
                )
            try:
                writer = self._schemas.writer(int.from_bytes(header[1:], "big"))
                fields = [field.name for field in writer.fields] if writer.kind is AvroKind.RECORD else []
                check_key_fields(fields, self._fields)
            except (AvroSchemaError, ValueError) as error:
                self._known[header] = f"its key has schema {int.from_bytes(header[1:], 'big')}: {error}"
            else:
                self._known[header] = ""
        return self._known[header]


def avro_keys(rows: pa.Table, columns: Schema, header: bytes) -> pa.ChunkedArray:
    """Return the key of each row as the bytes of a record with these columns, behind the id of its schema.

    Their schema is `avro_schema_of` these columns, whatever its name. Equal values have equal bytes.
    """
    names = {name.lower(): name for name in rows.column_names}
    values = [unify_floats(rows.column(names[column.name.lower()])) for column in columns.columns]
    written = _key_writer(columns).write(pa.Table.from_arrays(values, names=columns.names), header)
    return pa.chunked_array([written], pa.binary())


@lru_cache(maxsize=100)
def _key_writer(columns: Schema) -> AvroRowWriter:
    return AvroRowWriter(parse_avro_schema(json.dumps(avro_schema_of(columns, "Key"))), columns)


class _KeySchemas:
    """The schemas of keys of one column, where a plain value is read as a record with it: both have the same bytes."""

    def __init__(self, schemas: WriterSchemas, column: str) -> None:
        self._schemas = schemas
        self._column = column

    def writer(self, number: int) -> AvroType:
        """See `WriterSchemas.writer`."""
        return record_of_key(self._schemas.writer(number), self._column)
