"""Iceberg's types as those of columns, and the columns of files with the ids by which Iceberg finds them."""

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from streamapp_core.data_types import Column, DataType, SchemaError, TypeKind, array_of, map_of, struct_of
from streamapp_systems.arrow_types import arrow_type

FIELD_ID = b"PARQUET:field_id"
_KINDS: dict[type[IcebergType], TypeKind] = {
    BinaryType: TypeKind.BINARY,
    BooleanType: TypeKind.BOOLEAN,
    DateType: TypeKind.DATE,
    DoubleType: TypeKind.DOUBLE,
    FloatType: TypeKind.FLOAT,
    IntegerType: TypeKind.INT,
    LongType: TypeKind.BIGINT,
    StringType: TypeKind.STRING,
    TimestampType: TypeKind.TIMESTAMP_NTZ,
    TimestamptzType: TypeKind.TIMESTAMP,
}


def column_type(found: IcebergType) -> DataType | None:
    """Return the type of a column that holds what one of Iceberg's does; None: there is none (`uuid`, `time`)."""
    if isinstance(found, DecimalType):
        return DataType(TypeKind.DECIMAL, precision=found.precision, scale=found.scale)
    try:
        return _nested_type(found)
    except SchemaError:
        return None


def _nested_type(found: IcebergType) -> DataType | None:
    match found:
        case ListType():
            element = column_type(found.element_type)
            return None if element is None else array_of(element)
        case MapType():
            key, value = column_type(found.key_type), column_type(found.value_type)
            return None if key is None or value is None else map_of(key, value)
        case StructType():
            parts = [(part.name, column_type(part.field_type)) for part in found.fields]
            known = [Column(name, kind) for name, kind in parts if kind is not None]
            return struct_of(known) if len(known) == len(parts) else None
        case _:
            kind = _KINDS.get(type(found))
            return None if kind is None else DataType(kind)


def arrow_columns(schema: Schema) -> pa.Schema:
    """Return the columns of a table as batches of rows have them, without those that they can't have."""
    types = [(column, column_type(column.field_type)) for column in schema.fields]
    return pa.schema(
        [
            pa.field(column.name, arrow_type(kind), nullable=not column.required)
            for column, kind in types
            if kind is not None
        ]
    )


def stored_field(column: NestedField) -> pa.Field:
    """Return a column, of a type that rows have, as files have it: with its id, and those of what is inside."""
    return pa.field(
        column.name,
        _stored_type(column.field_type),
        nullable=not column.required,
        metadata={FIELD_ID: str(column.field_id)},
    )


def _stored_type(found: IcebergType) -> pa.DataType:
    match found:
        case ListType():
            return pa.list_(stored_field(found.element_field))
        case MapType():
            return pa.map_(stored_field(found.key_field), stored_field(found.value_field))
        case StructType():
            return pa.struct([stored_field(part) for part in found.fields])
        case _:
            kind = column_type(found)
            assert kind is not None
            return arrow_type(kind)
