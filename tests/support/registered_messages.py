"""Messages of Avro and of Protobuf behind the ids of three schemas that a registry has."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
from google.protobuf.message_factory import GetMessageClass

from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.protobuf.proto_files import ProtoError, compile_proto, find_message
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_runtime.rows.protobuf_messages import ProtobufDecoder
from streamapp_systems.protocols import Message, MessageTuple, Unavailable
from streamapp_systems.schema_header import header_of

SSP = Ssp("k", "s", 0)
FIRST_OFFSET = 10
AWAY = 99
"""The id that is asked of a registry that does not answer."""


def avro_record(**fields: Any) -> dict[str, Any]:
    """Return the schema of a record by the types of its fields."""
    return {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}


AVRO_SCHEMAS = {
    1: avro_record(k="int", old="string", v="float"),
    2: avro_record(v=["null", "double"], new={"type": "array", "items": "string"}, k="long"),
    3: avro_record(k="string"),
}
PROTO_SCHEMAS = {
    1: 'syntax = "proto3"; message R { int32 k = 1; string old = 2; float v = 3; message In { int32 k = 1; } }',
    2: 'syntax = "proto3"; message R { optional double v = 1; repeated string new = 2; int64 k = 3; } '
    "message Z { int32 k = 1; }",
    3: 'syntax = "proto3"; message R { string k = 1; }',
}


class Writers:
    """A registry of the three schemas, which counts how often it is asked."""

    asked = 0

    def writer(self, number: int) -> AvroType:
        return parse_avro_schema(json.dumps(self._found(AVRO_SCHEMAS, number, AvroSchemaError)))

    def file(self, number: int):
        return compile_proto(self._found(PROTO_SCHEMAS, number, ProtoError))

    def _found(self, schemas: dict[int, Any], number: int, error: type[Exception]) -> Any:
        self.asked += 1
        if number == AWAY:
            raise Unavailable("the registry is away")
        if number not in schemas:
            raise error("there is none")
        return schemas[number]


def avro_value(number: int, **fields: Any) -> bytes:
    """Return a record behind the id of its schema."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO_SCHEMAS[number], fields)
    return header_of(number) + out.getvalue()


def proto_value(number: int, places: bytes = b"\x00", name: str = "R", **fields: Any) -> bytes:
    """Return a message behind the id of its schema and its place there."""
    message = GetMessageClass(find_message(compile_proto(PROTO_SCHEMAS[number]), name))(**fields)
    return header_of(number) + places + message.SerializeToString()


def avro_decoder(columns: str = "k bigint, v double", writers: Writers | None = None) -> AvroDecoder:
    return AvroDecoder(parse_schema(columns), writers or Writers())


def proto_decoder(
    columns: str = "k bigint, v double", writers: Writers | None = None, name: str | None = None
) -> ProtobufDecoder:
    return ProtobufDecoder(parse_schema(columns), writers or Writers(), name)


def read(decoder: AvroDecoder | ProtobufDecoder, *values: bytes | None) -> MessageRows:
    """Return the rows of values that stand one after the other."""
    return decoder.decode(MessageTuple(Message(FIRST_OFFSET + n, 0, None, v) for n, v in enumerate(values)), SSP)


@dataclass(frozen=True)
class RegisteredFormat:
    """A format with what its messages of the first two schemas are: `firsts` have `k`, `old`, `v`, `seconds` no `v`."""

    name: str
    new_decoder: Callable[..., AvroDecoder | ProtobufDecoder]
    firsts: Sequence[bytes]
    seconds: Sequence[bytes]

    def __str__(self) -> str:
        return self.name


AVRO = RegisteredFormat(
    "avro",
    avro_decoder,
    [avro_value(1, k=n, old="x", v=n / 2) for n in range(3)],
    [avro_value(2, k=2**40 + n, new=["y"], v=None) for n in range(3)],
)
PROTOBUF = RegisteredFormat(
    "protobuf",
    proto_decoder,
    [proto_value(1, k=n, old="x", v=n / 2) for n in range(3)],
    [proto_value(2, k=2**40 + n, new=["y"]) for n in range(3)],
)
