"""The envelopes that Debezium writes around the rows of a table, as far as a stream's columns need them.

An envelope has the row before and `after` a change, the kind of change (`op`), when Debezium made it (`ts_ms`), and
where it comes from (`source`, with the database's own time and position).
"""

from streamapp_core.schema import BIGINT, STRING, Column, DataType, Schema, TypeKind, struct_of
from streamapp_core.spec.streams import StreamFormat, StreamSpec

AFTER, KIND, SOURCE = "after", "op", "source"
TIME_UNITS = {"ts_ms": 1_000, "ts_us": 1, "ts_ns": -1_000}
"""The names of times in an envelope, as whole numbers: how many microseconds one is, or, below 0, how many are one."""


def row_columns(schema: Schema, stream: StreamSpec) -> tuple[Column, ...]:
    """Return the columns of a stream that are those of the table, in the fields of its rows."""
    renames = stream.json_options if stream.format is StreamFormat.JSON else None
    return tuple(
        Column(column.name if renames is None else renames.field_of(column.name), column.type)
        for column in schema.columns
        if column.name not in stream.debezium.columns
    )


def time_name(path: str) -> str | None:
    """Return the name of a time in the path to it; None if it is no time."""
    name = path.rpartition(".")[2]
    return name if name in TIME_UNITS else None


def envelope_schema(schema: Schema, stream: StreamSpec) -> Schema:
    """Return what is read of an envelope: `after`, `op`, and the places of the columns that are not the table's."""
    places = {KIND: STRING}
    source: dict[str, DataType] = {}
    for column in schema.columns:
        path = stream.debezium.columns.get(column.name)
        if path is None:
            continue
        is_number = column.type.kind is TypeKind.TIMESTAMP and time_name(path) is not None
        above, _, name = path.rpartition(".")
        (source if above else places)[name] = BIGINT if is_number else column.type
    columns = [Column(AFTER, struct_of(row_columns(schema, stream)))]
    columns += [Column(name, kind) for name, kind in places.items()]
    if source:
        columns.append(Column(SOURCE, struct_of([Column(name, kind) for name, kind in source.items()])))
    return Schema(tuple(columns))
