"""The formats of messages that other programs read and write: JSON, Avro, Protobuf, CSV, or a text or bytes."""

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Protocol

import pyarrow as pa

from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.plan.check_protobuf import declared_message
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import JsonOptions, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder, WriterSchemas
from streamapp_runtime.rows.bounded_event_times import BoundedEventTimes
from streamapp_runtime.rows.debezium_messages import DebeziumDecoder
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows
from streamapp_runtime.rows.protobuf_messages import ProtobufDecoder, WriterFiles
from streamapp_runtime.rows.schema_messages import SchemaDecoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.avro.avro_encoding import AvroRowWriter
from streamapp_systems.file.csv_format import csv_lines
from streamapp_systems.file.csv_messages import CsvRowReader
from streamapp_systems.protobuf.proto_encoding import encode_protobuf_rows
from streamapp_systems.protocols import BadRecord, Message, Messages, MessageTuple


class RegisteredSchemas(WriterSchemas, WriterFiles, Protocol):
    """The schemas of a registry, of every kind."""


class ValueDecoder:
    """Decodes messages whose value is that of a row's one column: UTF-8 text, or bytes."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`."""
        good: list[Message] = []
        bad: list[BadRecord] = []
        text = pa.types.is_string(self._schema.types[0])
        for message in messages:
            if message.value is None:
                continue
            try:
                if text:
                    message.value.decode()
            except UnicodeDecodeError as error:
                bad.append(BadRecord(ssp, message.offset, f"the value is no UTF-8 text: {error}"))
            else:
                good.append(message)
        values = pa.array([message.value for message in good], self._schema.types[0])
        rows = pa.Table.from_arrays([values], schema=self._schema)
        return MessageRows(rows=rows, messages=MessageTuple(good), bad=tuple(bad))


def message_decoder(
    columns: Schema, stream: StreamSpec | None, unread: Collection[str], schemas: RegisteredSchemas, time_zone: str
) -> MessageDecoder:
    """Return the decoder of a stream's messages; texts of `unread` columns need not be kept.

    `schemas` has the schemas that messages of Avro and Protobuf name. Texts of timestamps that name no time zone are in
    `time_zone`.
    """
    schema = arrow_schema(columns)
    form = StreamFormat.JSON if stream is None else stream.format
    decoder: MessageDecoder
    if stream is not None and stream.changes is StreamChanges.DEBEZIUM:
        decoder = DebeziumDecoder(columns, stream, schemas, time_zone)
    elif stream is not None and form is StreamFormat.AVRO:
        decoder = AvroDecoder(columns, stream.avro.record_schema or schemas)
    elif stream is not None and form is StreamFormat.PROTOBUF:
        described = stream.protobuf.message_schema is not None
        written = declared_message(stream.protobuf) if described else schemas
        decoder = ProtobufDecoder(columns, written, stream.protobuf.message)
    elif stream is not None and form is StreamFormat.CSV:
        reader = CsvRowReader(schema, stream.csv, time_zone)
        decoder = SchemaDecoder(columns, None, lambda _: reader, time_zone)
    elif form is not StreamFormat.JSON:
        return ValueDecoder(schema)
    else:
        decoder = JsonDecoder(schema, unread, JsonOptions() if stream is None else stream.json_options, time_zone)
    time = None if stream is None else stream.event_time
    if time is None or time.max_ahead is None:
        return decoder
    return BoundedEventTimes(decoder, time.columns, time.max_ahead)


def encode_messages(
    rows: pa.Table, stream: StreamSpec | None, header: bytes = b"", columns: Schema | None = None
) -> pa.BinaryArray:
    """Encode each row as a message's value, behind a header if it has one; a null text or null bytes are no value.

    Values of Avro have their types from `columns`.

    Raises:
        StreamSystemError: a value has no form in the stream's schema.
    """
    if stream is None:
        return encode_json(rows)
    if stream.format is StreamFormat.JSON:
        return encode_json(rows, stream.json_options)
    if stream.format is StreamFormat.AVRO:
        assert columns is not None, "what is sent to a stream of Avro has one schema, which the planner checks"
        return _avro_writer(columns, stream.avro.record_schema).write(rows, header)
    if stream.format is StreamFormat.PROTOBUF:
        return encode_protobuf_rows(rows, header)
    if stream.format is StreamFormat.CSV:
        return pa.array([line.encode() for line in csv_lines(rows, stream.csv)], pa.binary())
    return rows.column(0).cast(pa.binary()).combine_chunks()


@lru_cache(maxsize=100)
def _avro_writer(columns: Schema, text: str | None) -> AvroRowWriter:
    """Return what writes rows by a schema that the spec gives, or by that which is made of their columns."""
    return AvroRowWriter(parse_avro_schema(text or json.dumps(avro_schema_of(columns, "Row"))), columns)
