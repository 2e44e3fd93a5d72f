"""Spark's types as the Arrow types of the columns in every batch of rows."""

import pyarrow as pa

from streamapp_core.schema import DataType, Schema, TypeKind
from streamapp_systems.variants.variant_columns import ARROW_VARIANT

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


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of batches with these columns, in order."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in schema.columns])
