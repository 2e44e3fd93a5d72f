"""Between StreamApp's column types and Arrow's."""

import pyarrow as pa

from streamapp_core.schema import EVENT_TIME_COLUMN, DataType, Schema, TypeKind

_ARROW_TYPES: dict[TypeKind, pa.DataType] = {
    TypeKind.STRING: pa.string(),
    TypeKind.BOOLEAN: pa.bool_(),
    TypeKind.INT: pa.int32(),
    TypeKind.BIGINT: pa.int64(),
    TypeKind.FLOAT: pa.float32(),
    TypeKind.DOUBLE: pa.float64(),
    TypeKind.DATE: pa.date32(),
    TypeKind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    TypeKind.BINARY: pa.binary(),
}


def arrow_type(data_type: DataType) -> pa.DataType:
    """Give the Arrow type that holds a column type."""
    if data_type.kind is TypeKind.DECIMAL:
        return pa.decimal128(data_type.precision, data_type.scale)
    return _ARROW_TYPES[data_type.kind]


def arrow_schema(schema: Schema, *, event_time: bool = False) -> pa.Schema:
    """Give the Arrow schema of batches of rows, on request with the hidden event time as last column."""
    fields = [pa.field(column.name, arrow_type(column.type)) for column in schema.columns]
    if event_time:
        fields.append(pa.field(EVENT_TIME_COLUMN, pa.int64()))
    return pa.schema(fields)
