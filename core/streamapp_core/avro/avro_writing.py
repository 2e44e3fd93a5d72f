"""The schema of Avro that columns are written with: every field may be null, and is by default (docs/avro.md)."""

import re
from collections.abc import Iterator
from typing import Any

from streamapp_core.schema import DataType, Schema, TypeKind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES: dict[TypeKind, Any] = {
    TypeKind.STRING: "string",
    TypeKind.BOOLEAN: "boolean",
    TypeKind.TINYINT: "int",
    TypeKind.SMALLINT: "int",
    TypeKind.INT: "int",
    TypeKind.BIGINT: "long",
    TypeKind.FLOAT: "float",
    TypeKind.DOUBLE: "double",
    TypeKind.BINARY: "bytes",
    TypeKind.DATE: {"type": "int", "logicalType": "date"},
    TypeKind.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    TypeKind.TIMESTAMP_NTZ: {"type": "long", "logicalType": "local-timestamp-micros"},
}


def record_name(topic: str) -> str:
    """Return the name of the records of a topic: its own, with `_` for what no name of Avro has."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", topic)
    return name if _NAME.fullmatch(name) else f"_{name}"


def avro_schema_of(schema: Schema, name: str) -> dict[str, Any]:
    """Return the schema of rows with these columns, as JSON; records inside are named by their place."""
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": column.name, "type": ["null", _type(column.type, f"{name}.{column.name}")], "default": None}
            for column in schema.columns
        ],
    }


def _type(data_type: DataType, place: str) -> Any:  # noqa: ANN401 - JSON
    match data_type.kind:
        case TypeKind.DECIMAL:
            digits = {"precision": data_type.precision, "scale": data_type.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        case TypeKind.ARRAY:
            return {"type": "array", "items": ["null", _type(data_type.element, place)]}
        case TypeKind.MAP:
            return {"type": "map", "values": ["null", _type(data_type.value, place)]}
        case TypeKind.STRUCT:
            return avro_schema_of(Schema(data_type.fields), place)
        case _:
            return _TYPES[data_type.kind]


def find_unwritable(schema: Schema) -> Iterator[tuple[str, str]]:
    """Find what Avro has no form for: the path of each such column or field, and why with what to do."""
    for column in schema.columns:
        yield from _unwritable_field(column.name, column.type, column.name)


def _unwritable_field(name: str, data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    if not _NAME.fullmatch(name):
        yield path, "a name in Avro has letters, digits and `_` only; give it another one in a map"
    yield from _unwritable(data_type, path)


def _unwritable(data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    match data_type.kind:
        case TypeKind.ARRAY:
            yield from _unwritable(data_type.element, path)
        case TypeKind.MAP:
            if data_type.key.kind is not TypeKind.STRING:
                yield path, f"it is {data_type}, and keys of maps in Avro are text; make an array of structs of it"
            yield from _unwritable(data_type.value, path)
        case TypeKind.STRUCT:
            for part in data_type.fields:
                yield from _unwritable_field(part.name, part.type, f"{path}.{part.name}")
        case TypeKind.VARIANT:
            yield path, "it is a variant, which Avro has no form for; write its text: to_json(...)"
