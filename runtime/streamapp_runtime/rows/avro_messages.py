"""Rows as Avro: each message has a record, alone or behind the id of its schema (Confluent's wire format)."""

from functools import partial
from typing import Protocol

from streamapp_core.avro.avro_columns import find_mismatches
from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.schema import Schema
from streamapp_runtime.rows.native_first import ValueReader, native_first
from streamapp_runtime.rows.schema_messages import SchemaDecoder
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.native.avro_programs import NativeAvroDecoder
from streamapp_systems.schema_header import HEADER, MAGIC


class WriterSchemas(Protocol):
    """The schemas that messages were written with."""

    def writer(self, number: int) -> AvroType:
        """Return the schema with an id.

        Raises:
            AvroSchemaError: there is none, or it is not Avro's.
            StreamSystemError: nobody answers.
        """
        ...


class AvroDecoder(SchemaDecoder):
    """Decodes the records of one stream: all that have the same schema at once."""

    def __init__(self, schema: Schema, writers: WriterSchemas | str) -> None:
        """Take the columns that rows have, and the schemas that messages name, or the one of bare records."""
        self._writers = writers
        header_of = None if isinstance(writers, str) else lambda value: value[:HEADER]
        super().__init__(schema, header_of, self._new_reader)

    def _new_reader(self, header: bytes) -> ValueReader | str:
        if isinstance(self._writers, str):
            return _avro_reader(parse_avro_schema(self._writers), self._schema)
        if len(header) < HEADER or header[:1] != MAGIC:
            return "it has no schema id: a byte 0 and four bytes before the record of Avro"
        number = int.from_bytes(header[1:], "big")
        try:
            writer = self._writers.writer(number)
        except AvroSchemaError as error:
            return f"schema {number}: {error}"
        for mismatch in find_mismatches(writer, self._schema):
            if not mismatch.missing:
                return f"schema {number}: column {mismatch.path}: {mismatch.reason}"
        return _avro_reader(writer, self._schema)


def _avro_reader(writer: AvroType, schema: Schema) -> ValueReader:
    return native_first(partial(NativeAvroDecoder, writer, schema), AvroRowReader(writer, schema))
