"""Bounds of what an expression makes of one row: a result may be as large as the product of what it is made of."""

from collections.abc import Sequence

from streamapp_core.data_types import SPATIAL, struct_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.typed_sql import Value, variant_value
from streamapp_core.schema import VOID, DataType, TypeKind

MAX_GROWTH = 10_000_000
"""The most characters and elements that are made or gone through where their number is a product; beyond it is null."""
MAX_ELEMENTS = 10_000
"""The most elements that `sequence` and `array_repeat` make: a batch must fit in memory."""
SHORT = 16
"""Characters of a literal that no text grows much by."""
_VARIABLE = SPATIAL | {TypeKind.STRING, TypeKind.BINARY, TypeKind.ARRAY, TypeKind.MAP, TypeKind.VARIANT}


def varies(data_type: DataType | None) -> bool:
    """Return whether values of a type differ in size."""
    return data_type is not None and bool(data_type.kinds & _VARIABLE)


def size(value: Value) -> str:
    """Write the number of characters and elements of a value that is cheap to repeat; 0 of a null."""
    data_type = value.type or VOID
    match data_type.kind:
        case TypeKind.STRING:
            return f"coalesce(strlen({value.sql}), 0)"
        case TypeKind.BINARY | TypeKind.VARIANT | TypeKind.GEOMETRY | TypeKind.GEOGRAPHY:
            content = variant_value(value.sql) if data_type.kind is TypeKind.VARIANT else value.sql
            return f"coalesce(octet_length({content}), 0)"
        case TypeKind.ARRAY:
            return _elements(value.sql, data_type.element)
        case TypeKind.MAP:
            return _elements(f"map_entries({value.sql})", struct_of(data_type.fields))
        case TypeKind.STRUCT:
            parts = nested_values.parts(value.sql, data_type)
            fixed = sum(not varies(part.type) for part in parts)
            return f"({' + '.join([str(fixed), *(size(part) for part in parts if varies(part.type))])})"
        case _:
            return "1"


def _elements(listed: str, element: DataType) -> str:
    if not varies(element):
        return f"coalesce(len({listed}), 0) * {max(1, len(element.fields))}"
    sizes = nested_values.each(listed, element, lambda inner: f"1 + {size(inner)}")
    return f"coalesce(list_sum({sizes}), 0)"


def bounded(sizes: Sequence[str], sql: str) -> str:
    """Write what is made where the product of sizes is within the bound; else null."""
    return f"CASE WHEN {' * '.join(sizes)} <= {MAX_GROWTH} THEN {sql} END"
