"""The formats of values and the rows they hold: JSON objects, records of CSV, one column of text or raw values."""

from collections import Counter
from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import sent_schemas, several_schemas_problems, superfluous_option
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema, TypeKind
from streamapp_core.spec.streams import (
    AvroOptions,
    CsvOptions,
    JsonOptions,
    JsonTimestamps,
    ProtobufOptions,
    StreamChanges,
    StreamFormat,
    StreamSpec,
)
from streamapp_core.spec.systems import SystemKind

WHOLE_VALUES = {StreamFormat.TEXT: TypeKind.STRING, StreamFormat.RAW: TypeKind.BINARY}
"""The formats of messages whose value is that of a row's one column, with its type."""


def check_value_formats(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find streams whose rows their format can't hold, and options that fit no value or column."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None:
            continue
        schemas = stream_schemas(graph, rows, name)
        yield from _check_options(name, stream, system.kind)
        if stream.format is StreamFormat.JSON and not stream.control_messages:
            yield from _check_json(graph, name, stream, schemas, rows)
        if stream.format is StreamFormat.CSV and system.kind.transactional:
            yield from several_schemas_problems(name, sent_schemas(graph, rows, name))
        if stream.format in WHOLE_VALUES:
            yield from _check_whole_values(graph, name, stream, schemas)


def _check_options(name: str, stream: StreamSpec, kind: SystemKind) -> Iterator[Problem]:
    """Find options of another format than the stream's: Arrow where there are control messages, Parquet in tables."""
    form = StreamFormat.ARROW if stream.control_messages else stream.format
    if (kind.holds_tables or kind is SystemKind.SPARK) and form is StreamFormat.JSON:
        form = StreamFormat.PARQUET
    options = {
        StreamFormat.JSON: ("JSON", stream.json_options != JsonOptions()),
        StreamFormat.CSV: ("CSV", stream.csv != CsvOptions()),
        StreamFormat.AVRO: ("Avro", stream.avro != AvroOptions()),
        StreamFormat.PROTOBUF: ("Protobuf", stream.protobuf != ProtobufOptions()),
    }
    for about, (title, given) in options.items():
        if given and about is not form:
            message = f"values of `{name}` are {form}, and `{about}` is about {title}"
            yield superfluous_option(name, (str(about),), message)


def _check_json(graph: Graph, name: str, stream: StreamSpec, schemas: list[Schema], rows: RowFlow) -> Iterator[Problem]:
    path, options = f"spec.streams.{name}.json", stream.json_options
    for schema in schemas:
        yield from _check_fields(name, schema, options)
    if options.timestamps is not JsonTimestamps.TEXT and _deletes_by_time(graph, name, stream, rows):
        yield Problem(
            path=f"{path}.timestamps",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"rows of `{name}` are deleted by keys that are timestamps, which keys of messages have as text; "
            "declare the key as a bigint",
        )


def _deletes_by_time(graph: Graph, name: str, stream: StreamSpec, rows: RowFlow) -> bool:
    """Return whether the keys of messages that may delete, those of changes and side inputs, are timestamps."""
    if stream.changes is StreamChanges.DEBEZIUM:
        return False
    schema, filled = rows.schemas.get(name), graph.side_inputs.get(name, ())
    tables = [rows.tables[table] for table in filled if table in rows.tables]
    keys = [key_type for table in tables for key_type in table.key_types]
    deletes = filled or stream.changes is StreamChanges.UPSERT
    declared = [] if schema is None or not deletes else map(schema.get, stream.key_columns)
    keys += [column.type for column in declared if column is not None]
    return any(key.kind is TypeKind.TIMESTAMP for key in keys)


def _check_fields(name: str, schema: Schema, options: JsonOptions) -> Iterator[Problem]:
    columns = [column.name for column in schema.columns]
    for column in options.fields:
        if column not in columns:
            yield Problem(
                path=f"spec.streams.{name}.json.fields.{column}",
                code=ProblemCode.UNKNOWN_COLUMN,
                message=f"`{name}` has no column `{column}`; columns: {', '.join(f'`{c}`' for c in columns)}",
            )
    for field, count in Counter(options.field_of(column) for column in columns).items():
        if count > 1:
            held = [column for column in columns if options.field_of(column) == field]
            yield Problem(
                path=f"spec.streams.{name}.json.fields",
                code=ProblemCode.INVALID_SPEC,
                message=f"columns {' and '.join(f'`{c}`' for c in held)} stand in one field, `{field}`: rename one",
            )


def _check_whole_values(graph: Graph, name: str, stream: StreamSpec, schemas: list[Schema]) -> Iterator[Problem]:
    path, kind = f"spec.streams.{name}", WHOLE_VALUES[stream.format]
    if name in graph.side_inputs:
        yield Problem(
            path=f"{path}.format",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` fills a table, whose rows have a key and a value; messages that are {stream.format} "
            "have one column: json has more",
        )
    for schema in schemas:
        if [column.type.kind for column in schema.columns] != [kind]:
            found = ", ".join(f"{column.name} {column.type}" for column in schema.columns)
            yield Problem(
                path=f"{path}.schema" if stream.stream_schema is not None else path,
                code=ProblemCode.TYPE_MISMATCH,
                message=f"values of `{name}` are {stream.format}: each is that of one column, a {kind}; there is "
                f"{found}",
            )
