"""Random files of Protobuf, the columns that their messages are read as, messages of them, and what goes wrong.

All is by one source of random numbers: with Hypothesis' source a failing example gets smaller; with Python's own,
millions of messages are made.
"""

import random
import struct
from collections.abc import Sequence

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from streamapp_core.data_types import Column, DataType
from streamapp_core.protobuf.proto_columns import TIMESTAMP_MESSAGE, columns_of_message, find_mismatches, map_entry
from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.schema import BIGINT, DOUBLE, INT, STRING, Schema, TypeKind, array_of, map_of, struct_of

_PLAIN = [
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "string", "bytes", "Kind",
]  # fmt: skip
_KEYS = ["string", "string", *_PLAIN[2:12]]
_STANDARD = ["google.protobuf.Timestamp"] + [
    f"google.protobuf.{kind}Value" for kind in ("Int32", "UInt64", "Bool", "String", "Bytes", "Double")
]
_HEAD = 'import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";\n'
_ENUM = "enum Kind { option allow_alias = true; NONE = 0; SOME = 1; SAME = 1; LESS = -1; MUCH = 2147483647; }\n"
_DEFAULTS = {
    "int32": ["-7", "2147483647"], "sint64": ["-9"], "sfixed32": ["-5"], "uint64": ["9223372036854775807"],
    "fixed32": ["4294967295"], "double": ["1.5", "-inf"], "float": ["0.1"], "bool": ["true"],
    "string": ['"x\\n\\"y"', '"ä"'], "bytes": ['"\\377a"'], "Kind": ["LESS", "SAME"],
}  # fmt: skip
_NUMBERS = [
    0,
    1,
    2,
    127,
    128,
    300,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64 - 2**31,
    1 << 56,
]
_TEXTS = ["", "a", "exactly8", "a text of more than sixteen bytes", "ä€😀", "\x00"]
_NO_TEXTS = [b"\xff", b"0123456\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
_BROKEN = [
    b"\x00",
    b"\x08",
    b"\x0a",
    b"\x01",
    b"\xff",
    b"\x80",
    b"\xff" * 9 + b"\x01",
    b"\x80\x00",
    b"\x0b",
    b"\x0c",
    b"\x0f",
]
_SECONDS = [0, 1_700_000_000, 253_402_300_799]
_VARINT = {
    FieldDescriptor.TYPE_INT32: 31, FieldDescriptor.TYPE_INT64: 64, FieldDescriptor.TYPE_UINT32: 32,
    FieldDescriptor.TYPE_UINT64: 64, FieldDescriptor.TYPE_SINT32: 32, FieldDescriptor.TYPE_SINT64: 64,
    FieldDescriptor.TYPE_BOOL: 1, FieldDescriptor.TYPE_ENUM: 1,
}  # fmt: skip
"""Bits of what is no oddity."""
_FIXED = {
    FieldDescriptor.TYPE_FIXED32: 4, FieldDescriptor.TYPE_SFIXED32: 4, FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED64: 8, FieldDescriptor.TYPE_SFIXED64: 8, FieldDescriptor.TYPE_DOUBLE: 8,
}  # fmt: skip
_WIRE_OF_FIXED = {4: 5, 8: 1}


def random_proto(draw: random.Random) -> tuple[Descriptor, Schema]:
    """Return a kind of messages, and columns that they are read as."""
    syntax = draw.choice(["proto2", "proto3"])
    text = f'syntax = "{syntax}"; package a.b;\n{_HEAD}{_ENUM}{_message_text(draw, "M", syntax, 2)}'
    message = find_message(compile_proto(text), "M")
    schema = columns_of_message(message)
    varied = Schema(_columns(draw, message, schema.columns))
    fits = bool(varied.columns) and all(mismatch.missing for mismatch in find_mismatches(message, varied))
    return message, varied if fits else schema


def random_proto_message(draw: random.Random, message: Descriptor, oddities: float) -> bytes:
    """Return a message; with this likelihood fields are there twice, are unknown, or hold what their columns can't."""
    unset = {draw.choice(oneof.fields).number for oneof in message.oneofs if len(oneof.fields) > 1}
    left_out = set() if draw.random() < oddities else unset
    parts = [
        part for field in message.fields if field.number not in left_out for part in _fields(draw, field, oddities)
    ]
    if draw.random() < oddities:
        draw.shuffle(parts)
    if draw.random() < oddities:
        parts += draw.choices(parts or [b""], k=1)
    if draw.random() < 0.1:
        parts.append(draw.choice([b"\xf8\x3f\x05", b"\xfa\x3f\x02xy", b"\xfd\x3f" + bytes(4), b"\xf9\x3f" + bytes(8)]))
    return b"".join(parts)


def broken_message(draw: random.Random, message: bytes) -> bytes:
    """Return a message that was cut, or has bytes more, fewer or others somewhere."""
    at = draw.randint(0, len(message))
    to = min(len(message), at + draw.choice([1, 1, 2, 5, 20]))
    return draw.choice(
        [
            message[:at],
            message[:at] + message[to:],
            message[:at] + draw.choice(_BROKEN) + message[to:],
            message[:at] + draw.choice(_BROKEN) + message[at:],
            message[:at] + message[at:to] * 2 + message[to:],
            message[:at] + bytes([draw.randint(0, 255)]) + message[at + 1 :],
            message + draw.choice(_BROKEN),
        ]
    )


def _message_text(draw: random.Random, name: str, syntax: str, depth: int) -> str:
    lines = []
    for number in range(1, draw.randint(1, 5) + 1):
        inner = f"{name}{number}"
        deep = bool(depth) and draw.random() < 0.4
        if deep:
            lines.append(_message_text(draw, inner, syntax, depth - 1))
        kind = inner if deep else draw.choice([*_PLAIN, *_STANDARD])
        place = f"f{number} = {draw.choice([1, 16, 3_000]) * 6 + number}"
        form = draw.choice(["plain", "plain", "optional", "repeated", "repeated", "map", "oneof"])
        match form:
            case "repeated":
                packed = draw.choice(["", " [packed = true]", " [packed = false]"]) if _is_number(kind) else ""
                lines.append(f"repeated {kind} {place}{packed};")
            case "map":
                lines.append(f"map<{draw.choice(_KEYS)}, {kind}> {place};")
            case "oneof":
                other = draw.choice(["int32", "string", "bytes", "google.protobuf.Timestamp"])
                lines.append(f"oneof o{number} {{ {kind} {place}; {other} x{number} = {100_000 + number}; }}")
            case _:
                label = "optional " if syntax == "proto2" or form == "optional" else ""
                default = draw.choice([*_DEFAULTS.get(kind, [""]), ""]) if syntax == "proto2" else ""
                lines.append(f"{label}{kind} {place}{f' [default = {default}]' if default else ''};")
    return "\n".join([f"message {name} {{", *lines, "}"])


def _is_number(kind: str) -> bool:
    return kind in _PLAIN and kind not in ("string", "bytes")


def _columns(draw: random.Random, message: Descriptor, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns that messages fit as well: some are left out, absent, of wider types, or elsewhere."""
    given = [column for column in columns if draw.random() < 0.8]
    varied = [Column(column.name, _varied(draw, message.fields_by_name[column.name], column.type)) for column in given]
    if draw.random() < 0.3:
        varied.append(Column("z", draw.choice([STRING, BIGINT, array_of(BIGINT), struct_of([Column("y", STRING)])])))
    if draw.random() < 0.3:
        draw.shuffle(varied)
    return tuple(varied)


def _varied(draw: random.Random, field: FieldDescriptor, to: DataType) -> DataType:
    entry = map_entry(field)
    if entry is not None:
        return map_of(to.key, _varied(draw, entry[1], to.value))
    if to.kind is TypeKind.ARRAY:
        return array_of(_varied(draw, field, to.element))
    if to.kind is TypeKind.STRUCT:
        return struct_of(_columns(draw, field.message_type, to.fields) or to.fields)
    if field.message_type is not None and field.message_type.full_name == TIMESTAMP_MESSAGE:
        return draw.choice([to, to, struct_of([Column("nanos", INT), Column("seconds", BIGINT)])])
    decimal = DataType(TypeKind.DECIMAL, precision=38, scale=draw.choice([0, 2, 18]))
    wider = {TypeKind.FLOAT: [DOUBLE], TypeKind.INT: [BIGINT, decimal], TypeKind.BIGINT: [decimal]}
    if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
        return draw.choice([to, BIGINT, decimal])
    return draw.choice([to, *([INT] if field.enum_type is not None else wider.get(to.kind, []))])


def _fields(draw: random.Random, field: FieldDescriptor, oddities: float) -> list[bytes]:
    """Return what a message has of a field: nothing, it once, or several times if it is repeated."""
    is_key = field.name == "key" and field.containing_type.GetOptions().map_entry
    if draw.random() < (oddities if is_key else 0.3):
        return []
    if not field.is_repeated:
        return [_field(draw, field, oddities)]
    count = draw.choice([0, 1, 2, 3, 15 if map_entry(field) else 4])
    if _is_packable(field) and draw.random() < 0.6:
        values = b"".join(_value(draw, field, oddities) for _ in range(count))
        return [_tag(field.number, 2) + _length(values)]
    return [_field(draw, field, oddities) for _ in range(count)]


def _is_packable(field: FieldDescriptor) -> bool:
    return field.type in _VARINT or field.type in _FIXED


def _field(draw: random.Random, field: FieldDescriptor, oddities: float) -> bytes:
    wire = 0 if field.type in _VARINT else _WIRE_OF_FIXED[_FIXED[field.type]] if field.type in _FIXED else 2
    if draw.random() < oddities / 8:
        wire = draw.randint(0, 7)
    return _tag(field.number, wire) + _value(draw, field, oddities)


def _value(draw: random.Random, field: FieldDescriptor, oddities: float) -> bytes:
    odd = draw.random() < oddities
    if field.name == "key" and field.containing_type.GetOptions().map_entry:
        return _key(draw, field, draw.randrange(3 if odd else 10**6))
    if field.containing_type.full_name == TIMESTAMP_MESSAGE and not odd:
        return _varint(draw.choice(_SECONDS if field.name == "seconds" else [0, 1, 999_999_999]))
    if field.type in _VARINT:
        return _varint(
            draw.choice([n for n in _NUMBERS if odd or n < 1 << _VARINT[field.type]]), draw.random() < oddities / 4
        )
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE) and not odd:
        form = "<f" if field.type == FieldDescriptor.TYPE_FLOAT else "<d"
        return struct.pack(form, draw.choice([0.0, -0.0, 1.5, float("inf"), float("nan")]))
    if field.type in _FIXED:
        return draw.choice([bytes(8), b"\x01" + bytes(7), b"\xfe\xff\xff\x7f\xff\xff\xff\x7f", b"\xff" * 8])[
            : _FIXED[field.type]
        ]
    if field.message_type is not None:
        return _length(random_proto_message(draw, field.message_type, oddities))
    if field.type == FieldDescriptor.TYPE_STRING:
        return _length(draw.choice(_NO_TEXTS) if odd else draw.choice(_TEXTS).encode())
    return _length(draw.randbytes(draw.choice([0, 3, 8, 20])))


def _key(draw: random.Random, field: FieldDescriptor, number: int) -> bytes:
    if field.type in _FIXED:
        return number.to_bytes(_FIXED[field.type], "little")
    return _varint(number) if field.type in _VARINT else _length(f"{draw.choice(_TEXTS)}{number}".encode())


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _length(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _varint(value: int, longer: bool = False) -> bytes:
    """Return a number; one that is `longer` than it has to be is the same."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    if longer and len(found) < 10:
        found[-1] |= 0x80
        found.append(0)
    return bytes(found)
