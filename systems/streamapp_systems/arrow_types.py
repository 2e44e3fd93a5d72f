"""Spark's types as the Arrow types of the columns in every batch of rows."""

from typing import TypeVar

import pyarrow as pa

from streamapp_core.data_types import BIGINT, TIMESTAMP
from streamapp_core.schema import (
    MAX_PRECISION,
    Column,
    DataType,
    Schema,
    SchemaError,
    TypeKind,
    array_of,
    map_of,
    struct_of,
)
from streamapp_systems.variants.variant_columns import ARROW_VARIANT

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)
_TYPES = {
    TypeKind.STRING: pa.string(),
    TypeKind.BOOLEAN: pa.bool_(),
    TypeKind.TINYINT: pa.int8(),
    TypeKind.SMALLINT: pa.int16(),
    TypeKind.INT: pa.int32(),
    TypeKind.BIGINT: pa.int64(),
    TypeKind.FLOAT: pa.float32(),
    TypeKind.DOUBLE: pa.float64(),
    TypeKind.DATE: pa.date32(),
    TypeKind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    TypeKind.TIMESTAMP_NTZ: pa.timestamp("us"),
    TypeKind.BINARY: pa.binary(),
    TypeKind.VARIANT: ARROW_VARIANT,
}
_FOUND = {arrow: DataType(kind) for kind, arrow in _TYPES.items()} | {
    pa.large_string(): DataType(TypeKind.STRING),
    pa.large_binary(): DataType(TypeKind.BINARY),
    pa.date64(): DataType(TypeKind.DATE),
    pa.null(): DataType(TypeKind.STRING),
}
_LONG, _LONGEST_UNSIGNED = 64, 20


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type that holds values of this type."""
    if data_type.kind is TypeKind.DECIMAL:
        return pa.decimal128(data_type.precision, data_type.scale)
    match data_type.kind:
        case TypeKind.ARRAY:
            return pa.list_(arrow_type(data_type.element))
        case TypeKind.MAP:
            return pa.map_(arrow_type(data_type.key), arrow_type(data_type.value))
        case TypeKind.STRUCT:
            return pa.struct([(part.name, arrow_type(part.type)) for part in data_type.fields])
        case _:
            return _TYPES[data_type.kind]


def in_time_zone(schema: pa.Schema, time_zone: str) -> pa.Schema:
    """Return a schema whose timestamps are shown in a time zone: texts that name none are read in it."""
    if time_zone == "UTC":
        return schema
    return pa.schema([field.with_type(_in_time_zone(field.type, time_zone)) for field in schema])


def in_utc(rows: Rows, schema: pa.Schema) -> Rows:
    """Return rows of a schema of `in_time_zone` as those of the schema that this was made of."""
    return rows if rows.schema.equals(schema) else rows.cast(schema)


def _in_time_zone(kind: pa.DataType, time_zone: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_time_zone(field.type, time_zone)) for field in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_time_zone(kind.value_type, time_zone)))
    if pa.types.is_map(kind):
        return pa.map_(_in_time_zone(kind.key_type, time_zone), _in_time_zone(kind.item_type, time_zone))
    shown = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.timestamp(kind.unit, tz=time_zone) if shown else kind


def spec_type(found: pa.DataType) -> DataType | None:
    """Return the type of a column that holds what columns of an Arrow type do, as files have them; None: there is none.

    Timestamps without a time zone are taken for UTC, as texts without one are.
    """
    if pa.types.is_dictionary(found):
        return spec_type(found.value_type)
    if pa.types.is_timestamp(found):
        return TIMESTAMP
    if pa.types.is_unsigned_integer(found):
        return BIGINT if found.bit_width < _LONG else DataType(TypeKind.DECIMAL, precision=_LONGEST_UNSIGNED)
    if pa.types.is_decimal(found) and found.precision <= MAX_PRECISION and 0 <= found.scale <= found.precision:
        return DataType(TypeKind.DECIMAL, precision=found.precision, scale=found.scale)
    try:
        return _nested(found) if pa.types.is_nested(found) else _FOUND.get(found)
    except SchemaError:
        return None


def _nested(found: pa.DataType) -> DataType | None:
    if pa.types.is_struct(found):
        fields = [(field.name, spec_type(field.type)) for field in found.fields]
        known = [Column(name, kind) for name, kind in fields if kind is not None]
        return struct_of(known) if len(known) == len(fields) else None
    if pa.types.is_map(found):
        key, value = spec_type(found.key_type), spec_type(found.item_type)
        return None if key is None or value is None else map_of(key, value)
    if not (pa.types.is_list(found) or pa.types.is_large_list(found)):
        return None
    element = spec_type(found.value_type)
    return None if element is None else array_of(element)


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of batches with these columns, in order."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in schema.columns])
