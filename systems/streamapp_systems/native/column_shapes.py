"""The columns of a schema as the native library makes them."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from streamapp_systems.native.decoded_messages import NativeDecodingError

_BITS, _FIXED, _TEXT, _LIST, _STRUCT = range(5)
_DEEPEST = 40


class ColumnShape(ctypes.Structure):
    """`struct column_shape`."""

    _fields_ = tuple((name, ctypes.c_int32) for name in ("layout", "width", "first_child", "child_count"))


@dataclass(slots=True)
class MadeColumn:
    """A column: its number in the library's list, its type, and those below it.

    A list has its element below it, a map a struct of a key and a value.
    """

    kind: pa.DataType
    layout: int
    children: Sequence["MadeColumn"] = ()
    number: int = field(default=0)

    @property
    def shape(self) -> tuple[int, int]:
        """The layout, and how many bytes a value has."""
        return self.layout, self.kind.byte_width if self.layout == _FIXED else 0


def made_columns(schema: pa.Schema) -> tuple[MadeColumn, "ctypes.Array[ColumnShape]"]:
    """Return the struct of a schema's columns, the first one, and the shapes of all.

    Raises:
        NativeDecodingError: there is a type that the library does not make, or nothing.
    """
    if not len(schema):
        raise NativeDecodingError("there are no columns")
    root = MadeColumn(pa.null(), _STRUCT, [_column(part.type, 1) for part in schema])
    columns = [root]
    first_children = []
    for column in columns:
        first_children.append(len(columns))
        for number, child in enumerate(column.children, len(columns)):
            child.number = number
        columns += column.children
    shapes = (ColumnShape * len(columns))()
    for number, (column, first_child) in enumerate(zip(columns, first_children, strict=True)):
        shapes[number] = ColumnShape(*column.shape, first_child, len(column.children))
    return root, shapes


def _column(kind: pa.DataType, depth: int) -> MadeColumn:
    if depth == _DEEPEST:
        raise NativeDecodingError("the schema is nested too deeply")
    if pa.types.is_struct(kind) and kind.num_fields:
        return MadeColumn(kind, _STRUCT, [_column(part.type, depth + 1) for part in kind.fields])
    if pa.types.is_list(kind):
        return MadeColumn(kind, _LIST, [_column(kind.value_type, depth + 1)])
    if pa.types.is_map(kind) and _is_key(kind.key_type):
        entry = [_column(part, depth + 2) for part in (kind.key_type, kind.item_type)]
        return MadeColumn(kind, _LIST, [MadeColumn(pa.null(), _STRUCT, entry)])
    if pa.types.is_boolean(kind):
        return MadeColumn(kind, _BITS)
    if kind in (pa.string(), pa.binary()):
        return MadeColumn(kind, _TEXT)
    if pa.types.is_nested(kind) or not (pa.types.is_primitive(kind) or pa.types.is_decimal128(kind)):
        raise NativeDecodingError(f"the library makes no {kind}")
    return MadeColumn(kind, _FIXED)


def _is_key(kind: pa.DataType) -> bool:
    """Return whether the library finds out which values differ: texts and whole numbers."""
    return kind in (pa.string(), pa.int32(), pa.int64()) or pa.types.is_decimal128(kind)
