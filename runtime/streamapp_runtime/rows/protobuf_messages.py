"""Protobuf: messages alone, or behind the id of their schema and their place there (Confluent's wire format)."""

from functools import partial
from typing import Protocol

from google.protobuf.descriptor import Descriptor, FileDescriptor

from streamapp_core.protobuf.proto_columns import find_mismatches
from streamapp_core.protobuf.proto_files import ProtoError, message_at, registered_message
from streamapp_core.schema import Schema
from streamapp_runtime.rows.native_first import ValueReader, native_first
from streamapp_runtime.rows.schema_messages import SchemaDecoder
from streamapp_systems.native.proto_programs import NativeProtoDecoder
from streamapp_systems.protobuf.message_indexes import message_header, schema_place
from streamapp_systems.protobuf.proto_decoding import ProtoRowReader


class WriterFiles(Protocol):
    """The files that messages were written with."""

    def file(self, number: int) -> FileDescriptor:
        """Return the file with an id.

        Raises:
            ProtoError: there is none, or it is not Protobuf's.
            StreamSystemError: nobody answers.
        """
        ...


class ProtobufDecoder(SchemaDecoder):
    """Decodes the messages of one stream: all that have the same schema at once."""

    def __init__(self, schema: Schema, writers: WriterFiles | Descriptor, name: str | None = None) -> None:
        """Take the columns that rows have, and the files that messages name, or the message that all are.

        `name` is that of the messages; default: the first of their file.
        """
        self._writers = writers
        self._name = name
        super().__init__(schema, None if isinstance(writers, Descriptor) else message_header, self._new_reader)

    def _new_reader(self, header: bytes) -> ValueReader | str:
        if isinstance(self._writers, Descriptor):
            return _proto_reader(self._writers, self._schema)
        place = schema_place(header)
        if place is None:
            return "it has no schema id: a byte 0, four bytes, and the place of the message before that of Protobuf"
        number, places = place
        try:
            file = self._writers.file(number)
            message, expected = message_at(file, places), registered_message(file, self._name)
        except ProtoError as error:
            return f"schema {number}: {error}"
        if message is not expected:
            return (
                f"it is a {message.full_name}, and the stream's messages are {expected.full_name}; "
                "`protobuf.message` says which are read"
            )
        for mismatch in find_mismatches(message, self._schema):
            if not mismatch.missing:
                return f"schema {number}: column {mismatch.path}: {mismatch.reason}"
        return _proto_reader(message, self._schema)


def _proto_reader(message: Descriptor, schema: Schema) -> ValueReader:
    return native_first(partial(NativeProtoDecoder, message, schema), ProtoRowReader(message, schema))
