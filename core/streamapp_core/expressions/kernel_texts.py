"""The form in which kernels give values of nested types to SQL: JSON whose values are texts.

Fields of structs are named by their places, maps are lists of entries.
"""

import json
from typing import Any

from streamapp_core.data_types import STRING, Column, DataType, TypeKind, array_of, struct_of
from streamapp_core.expressions.typed_sql import Value, text


def parsed_texts(sql: str, data_type: DataType) -> Value:
    """Write the value of such JSON for a type: texts, in lists and structs."""
    return Value(_text_type(data_type), f"json_transform({sql}, {text(json.dumps(_structure(data_type)))})")


def _structure(data_type: DataType) -> Any:  # noqa: ANN401 - a name, or a list or object of names
    match data_type.kind:
        case TypeKind.STRUCT:
            return {f"f{place}": _structure(field.type) for place, field in enumerate(data_type.fields)}
        case TypeKind.ARRAY:
            return [_structure(data_type.element)]
        case TypeKind.MAP:
            return [{"key": "VARCHAR", "value": _structure(data_type.value)}]
        case _:
            return "VARCHAR"


def _text_type(data_type: DataType) -> DataType:
    match data_type.kind:
        case TypeKind.STRUCT:
            fields = enumerate(data_type.fields)
            return struct_of([Column(f"f{place}", _text_type(field.type)) for place, field in fields])
        case TypeKind.ARRAY:
            return array_of(_text_type(data_type.element))
        case TypeKind.MAP:
            return array_of(struct_of([Column("key", STRING), Column("value", _text_type(data_type.value))]))
        case _:
            return STRING
