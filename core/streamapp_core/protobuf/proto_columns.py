"""The columns that messages of Protobuf fit: found for a message, or judged where a spec declares them."""

from collections.abc import Iterator, Mapping

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from streamapp_core.data_types import all_types
from streamapp_core.protobuf.proto_files import ProtoError
from streamapp_core.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Column,
    DataType,
    Schema,
    SchemaError,
    TypeKind,
    array_of,
    map_of,
    parse_schema,
    struct_of,
)
from streamapp_core.schema_mismatch import SchemaMismatch

TIMESTAMP_MESSAGE = "google.protobuf.Timestamp"
WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "String", "Bytes")
)
"""The messages that hold one value, and are there to be absent."""

_LONG = DataType(TypeKind.DECIMAL, precision=20)
_INTS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32)
_LONGS = (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64)
_UNSIGNED = (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32)
_UNSIGNED_LONGS = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_PLAIN: Mapping[int, DataType] = {
    FieldDescriptor.TYPE_BOOL: BOOLEAN,
    FieldDescriptor.TYPE_FLOAT: FLOAT,
    FieldDescriptor.TYPE_DOUBLE: DOUBLE,
    FieldDescriptor.TYPE_STRING: STRING,
    FieldDescriptor.TYPE_BYTES: BINARY,
    FieldDescriptor.TYPE_ENUM: STRING,
    **dict.fromkeys(_INTS, INT),
    **dict.fromkeys(_LONGS, BIGINT),
    **dict.fromkeys(_UNSIGNED, BIGINT),
    **dict.fromkeys(_UNSIGNED_LONGS, _LONG),
}
_WIDER: Mapping[int, tuple[TypeKind, ...]] = {
    FieldDescriptor.TYPE_FLOAT: (TypeKind.DOUBLE,),
    FieldDescriptor.TYPE_ENUM: (TypeKind.INT,),
    **dict.fromkeys(_INTS, (TypeKind.BIGINT,)),
    **dict.fromkeys(_UNSIGNED_LONGS, (TypeKind.BIGINT,)),
}
"""The columns that a type may stand in beside its own."""
_DIGITS: Mapping[int, int] = {
    **dict.fromkeys((*_INTS, *_UNSIGNED), 10),
    **dict.fromkeys(_LONGS, 19),
    **dict.fromkeys(_UNSIGNED_LONGS, 20),
}
_NAMES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
_KEYS = (TypeKind.STRING, TypeKind.BOOLEAN, TypeKind.INT, TypeKind.BIGINT, TypeKind.DECIMAL)
_NEVER = {
    TypeKind.TINYINT: "; declare int, and cast it in a map",
    TypeKind.SMALLINT: "; declare int, and cast it in a map",
    TypeKind.DATE: "; declare what it is made of, and cast it in a map",
    TypeKind.TIMESTAMP_NTZ: "; declare timestamp",
    TypeKind.VARIANT: "; declare what it holds, or a string and parse_json(...)",
}


def columns_of_message(message: Descriptor) -> Schema:
    """Return the columns that hold all that messages do.

    Raises:
        ProtoError: they have what no column holds, or names that differ in their case alone.
    """
    try:
        return parse_schema(str(Schema(tuple(_columns(message, ())))))
    except SchemaError as error:
        raise ProtoError(
            f"the fields of {message.full_name} are no columns: {error}; write the stream's `schema`"
        ) from None


def _columns(message: Descriptor, inside: tuple[str, ...]) -> Iterator[Column]:
    if message.full_name in inside:
        raise ProtoError(
            f"{message.full_name} holds itself, which no column does; write the stream's `schema` without it"
        )
    for field in message.fields:
        yield Column(field.name, _type_of_field(field, (*inside, message.full_name)))


def _type_of_field(field: FieldDescriptor, inside: tuple[str, ...]) -> DataType:
    entry = map_entry(field)
    if entry is not None:
        key, value = entry
        return map_of(_type_of_value(key, inside), _type_of_value(value, inside))
    value_type = _type_of_value(field, inside)
    return array_of(value_type) if field.is_repeated else value_type


def _type_of_value(field: FieldDescriptor, inside: tuple[str, ...]) -> DataType:
    message = field.message_type
    if message is None:
        return _PLAIN[field.type]
    if message.full_name == TIMESTAMP_MESSAGE:
        return TIMESTAMP
    if message.full_name in WRAPPERS:
        return _PLAIN[message.fields_by_name["value"].type]
    columns = list(_columns(message, inside))
    if not columns:
        raise ProtoError(
            f"{message.full_name} has no fields, so it is no column; write the stream's `schema` without it"
        )
    return struct_of(columns)


def map_entry(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor] | None:
    """Return the key and the value of a map; None if a field is none."""
    message = field.message_type
    if message is None or not message.GetOptions().map_entry:
        return None
    return message.fields_by_name["key"], message.fields_by_name["value"]


def find_unreadable(schema: Schema) -> Iterator[SchemaMismatch]:
    """Find the columns that no value of Protobuf stands in, whatever its schema."""
    for column in schema.columns:
        for kind in all_types(column.type):
            if kind.kind is TypeKind.MAP and kind.key.kind not in _KEYS:
                yield SchemaMismatch(path=column.name, reason=f"keys of maps in Protobuf are no {kind.key}")
            elif kind.kind in _NEVER:
                yield SchemaMismatch(path=column.name, reason=f"no value of Protobuf is a {kind}{_NEVER[kind.kind]}")


def find_mismatches(message: Descriptor, schema: Schema) -> Iterator[SchemaMismatch]:
    """Find the columns of a stream that a message's fields don't fit."""
    yield from _in_message(message, schema.columns, "")


def _in_message(message: Descriptor, columns: tuple[Column, ...], path: str) -> Iterator[SchemaMismatch]:
    for column in columns:
        at, field = f"{path}{column.name}", message.fields_by_name.get(column.name)
        if field is None:
            near = next((name for name in message.fields_by_name if name.lower() == column.name.lower()), None)
            hint = f"; there is `{near}`, and names are compared with their case" if near else ""
            yield SchemaMismatch(
                path=at, reason=f"{message.full_name} has no field `{column.name}`{hint}", missing=True
            )
        else:
            yield from _in_field(field, column.type, at)


def _in_field(field: FieldDescriptor, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    entry = map_entry(field)
    if entry is not None and to.kind is TypeKind.MAP:
        yield from _in_value(entry[0], to.key, f"{path}.key")
        yield from _in_value(entry[1], to.value, f"{path}.value")
    elif entry is None and field.is_repeated and to.kind is TypeKind.ARRAY:
        yield from _in_value(field, to.element, f"{path}.element")
    elif field.is_repeated:
        yield _mismatch(field, to, path)
    else:
        yield from _in_value(field, to, path)


def _in_value(field: FieldDescriptor, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    message = field.message_type
    if field.type == FieldDescriptor.TYPE_GROUP:
        yield SchemaMismatch(path=path, reason="it is a group, which is not read; leave the column out")
    elif message is not None and to.kind is TypeKind.STRUCT:
        yield from _in_message(message, to.fields, f"{path}.")
    elif message is not None and message.full_name in WRAPPERS:
        yield from _in_value(message.fields_by_name["value"], to, path)
    elif not _fits(field, to):
        yield _mismatch(field, to, path)


def _fits(field: FieldDescriptor, to: DataType) -> bool:
    if field.message_type is not None:
        return field.message_type.full_name == TIMESTAMP_MESSAGE and to == TIMESTAMP
    if to.kind is TypeKind.DECIMAL:
        return field.type in _DIGITS and to.precision - to.scale >= _DIGITS[field.type]
    return to.kind is _PLAIN[field.type].kind or to.kind in _WIDER.get(field.type, ())


def _mismatch(field: FieldDescriptor, to: DataType, path: str) -> SchemaMismatch:
    return SchemaMismatch(path=path, reason=f"{_named(field)} is no {to}{_instead(field, to)}")


def _named(field: FieldDescriptor) -> str:
    entry = map_entry(field)
    if entry is not None:
        return f"map<{_named(entry[0])}, {_named(entry[1])}>"
    kind = field.message_type or field.enum_type
    name = _NAMES[field.type] if kind is None else kind.full_name
    return f"repeated {name}" if field.is_repeated else name


def _instead(field: FieldDescriptor, to: DataType) -> str:
    try:
        fitting = _type_of_field(field, ())
    except (ProtoError, SchemaError):
        return ""
    if to.kind in (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.DOUBLE) and fitting in (
        INT,
        BIGINT,
        _LONG,
    ):
        return f"; declare {fitting}, and cast it in a map"
    return f"; declare {fitting}"
