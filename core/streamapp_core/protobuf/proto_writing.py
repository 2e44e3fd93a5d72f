"""The message of Protobuf that columns are written as, and its text: every value may be absent (docs/protobuf.md)."""

import re
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor

from streamapp_core.schema import DataType, Schema, TypeKind

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TYPES = {
    TypeKind.STRING: "string",
    TypeKind.BOOLEAN: "bool",
    TypeKind.TINYINT: "int32",
    TypeKind.SMALLINT: "int32",
    TypeKind.INT: "int32",
    TypeKind.BIGINT: "int64",
    TypeKind.FLOAT: "float",
    TypeKind.DOUBLE: "double",
    TypeKind.BINARY: "bytes",
    TypeKind.TIMESTAMP: "google.protobuf.Timestamp",
}
_KEYS = (TypeKind.STRING, TypeKind.BOOLEAN, TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT)
_NEVER = {
    TypeKind.DECIMAL: "write its text, which is exact: cast(... as string)",
    TypeKind.DATE: "write its text, cast(... as string), or its number of days, unix_date(...)",
    TypeKind.TIMESTAMP_NTZ: "write a timestamp, cast(... as timestamp), or its text",
    TypeKind.VARIANT: "write its text: to_json(...)",
}


def message_name(topic: str) -> str:
    """Return the name of the messages of a topic: its own, with `_` for what no name of Protobuf has."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", topic)
    return name if _NAME.fullmatch(name) else f"M{name}"


def proto_text_of(schema: Schema, name: str) -> str:
    """Return the `.proto` file of rows with these columns; `name` is the message's, behind that of its package.

    The numbers of fields are the places of their columns, from 1 on, on every level.
    """
    package, _, message = name.rpartition(".")
    lines = ['syntax = "proto3";']
    lines += [f"package {package};"] if package else []
    if any(TypeKind.TIMESTAMP in column.type.kinds for column in schema.columns):
        lines.append('import "google/protobuf/timestamp.proto";')
    return "\n".join((*lines, *_message(schema, message, "T", ""))) + "\n"


def _message(schema: Schema, name: str, inner: str, indent: str) -> Iterator[str]:
    """Yield the lines of a message; those inside are named by their places, as no two in one another may be alike."""
    yield f"{indent}message {name} {{"
    for number, column in enumerate(schema.columns, 1):
        struct = _struct_inside(column.type)
        own = f"{inner}{number}"
        if struct is not None:
            yield from _message(Schema(struct.fields), own, f"{own}_", f"{indent}  ")
        yield f"{indent}  {_declared(column.type, own)} {column.name} = {number};"
    yield f"{indent}}}"


def _struct_inside(data_type: DataType) -> DataType | None:
    match data_type.kind:
        case TypeKind.ARRAY:
            return _struct_inside(data_type.element)
        case TypeKind.MAP:
            return _struct_inside(data_type.value)
        case TypeKind.STRUCT:
            return data_type
    return None


def _declared(data_type: DataType, inner: str) -> str:
    match data_type.kind:
        case TypeKind.ARRAY:
            return f"repeated {_value(data_type.element, inner)}"
        case TypeKind.MAP:
            return f"map<{_value(data_type.key, inner)}, {_value(data_type.value, inner)}>"
        case TypeKind.STRUCT | TypeKind.TIMESTAMP:
            return _value(data_type, inner)
    return f"optional {_value(data_type, inner)}"


def _value(data_type: DataType, inner: str) -> str:
    return inner if data_type.kind is TypeKind.STRUCT else _TYPES[data_type.kind]


def find_unwritable(schema: Schema) -> Iterator[tuple[str, str]]:
    """Find what Protobuf has no form for: the path of each such column or field, and why with what to do."""
    for column in schema.columns:
        yield from _unwritable_field(column.name, column.type, column.name)


def _unwritable_field(name: str, data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    if not _NAME.fullmatch(name):
        yield path, "a name in Protobuf has a letter, and then letters, digits and `_`; give it another one in a map"
    match data_type.kind:
        case TypeKind.ARRAY:
            yield from _unwritable_part(data_type.element, path)
        case TypeKind.MAP:
            if data_type.key.kind not in _KEYS:
                yield path, f"keys of maps are text, whole numbers or booleans, not {data_type.key}"
            yield from _unwritable_part(data_type.value, path)
        case _:
            yield from _unwritable(data_type, path)


def _unwritable_part(data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    if data_type.kind in (TypeKind.ARRAY, TypeKind.MAP):
        yield path, f"arrays and maps hold no {data_type.kind}s; put each into a struct: named_struct('values', ...)"
    else:
        yield from _unwritable(data_type, path)


def _unwritable(data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    if data_type.kind is TypeKind.STRUCT:
        for part in data_type.fields:
            yield from _unwritable_field(part.name, part.type, f"{path}.{part.name}")
    elif data_type.kind in _NEVER:
        yield path, f"it is {data_type}, which Protobuf has no form for; {_NEVER[data_type.kind]}"


def find_renumbered(before: Descriptor, after: Descriptor) -> Iterator[str]:
    """Find the fields that a new form of a message gives another number or name: readers would take them for others.

    A message of a map's entries has the numbers that it must, so its value is what can differ.
    """
    for field in after.fields:
        same_name, same_number = before.fields_by_name.get(field.name), before.fields_by_number.get(field.number)
        if same_name is not None and same_name.number != field.number:
            yield f"`{field.name}` would be field {field.number} and was {same_name.number}; new columns stand last"
        elif same_name is None and same_number is not None:
            yield f"field {field.number} would be `{field.name}` and was `{same_number.name}`"
        elif same_name is not None and same_name.message_type is not None and field.message_type is not None:
            yield from find_renumbered(same_name.message_type, field.message_type)
