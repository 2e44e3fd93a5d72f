"""Streams that are read as changes: what they need, and where records can't be changes."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.debezium_envelopes import KIND, time_name
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema, TypeKind
from streamapp_core.spec.streams import DebeziumOptions, KeyFormat, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

_FORMATS = (StreamFormat.JSON, StreamFormat.AVRO)


def check_change_streams(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find streams whose `changes` nobody could follow: without a key, of files, or written by the app."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None:
            continue
        if stream.changes is not StreamChanges.DEBEZIUM and stream.debezium != DebeziumOptions():
            yield superfluous_option(
                name, ("debezium",), f"records of `{name}` are no envelopes: `changes` is {stream.changes}"
            )
        if not stream.changes.is_read:
            continue
        reason = _no_changes(graph, name, stream, system.kind)
        if reason is not None:
            yield superfluous_option(name, ("changes",), reason)
            continue
        if stream.key is None:
            yield Problem(
                path=f"spec.streams.{name}.key",
                code=ProblemCode.INVALID_SPEC,
                message=f"the records of `{name}` replace each other by their keys: name the column that these hold",
            )
        yield from _check_tables(graph, rows, name, stream)
        if system.kind.holds_tables and (stream.partitions or 1) > 1:
            yield superfluous_option(
                name, ("partitions",), f"the changes of `{name}` have one order, so they are in one partition"
            )
        if stream.changes is StreamChanges.DEBEZIUM:
            yield from _check_envelopes(name, stream, rows.schemas.get(name), registered=bool(system.schema_registry))


def _no_changes(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> str | None:
    """Return why a stream can't be read as changes; None if it can."""
    if name in graph.senders:
        return f"`{name}` is written, and what is sent to it says by itself whether its rows replace each other"
    if kind.holds_tables:
        table = f"`{name}` is a table, whose versions say what changed: `changes` is upsert"
        return None if stream.changes is StreamChanges.UPSERT else table
    if kind.holds_files:
        return f"`{name}` is read from files, and only tables and records of Kafka and of logs say what was deleted"
    if stream.control_messages:
        return f"`{name}` is an intermediate stream of another app, whose rows are read as they are"
    if stream.format not in _FORMATS:
        return f"values of `{name}` are {stream.format}, one column, and a change has a key and other columns"
    return None


def _check_tables(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find tables that could not tell which of their rows a deletion is about."""
    for filled in graph.side_inputs.get(name, ()):
        table = rows.tables.get(filled)
        sources = {(part.source_column or "").lower() for part in table.key} if table is not None else set()
        if sources and stream.key is not None and sources != {column.lower() for column in stream.key_columns}:
            key = ", ".join(f"`{column}`" for column in stream.key_columns)
            yield Problem(
                path=f"spec.tables.{filled}.key",
                code=ProblemCode.CHANGES_UNSUPPORTED,
                message=f"the rows of `{name}` are deleted by their {key}, and table `{filled}` has another key: give "
                f"it the key {key}",
            )


def _check_envelopes(name: str, stream: StreamSpec, schema: Schema | None, *, registered: bool) -> Iterator[Problem]:
    if stream.key_format is not KeyFormat.STRING:
        yield superfluous_option(
            name, ("keyFormat",), f"keys of `{name}` are objects or records of Avro, as Debezium writes them"
        )
    if stream.format is StreamFormat.AVRO and not registered:
        yield Problem(
            path=f"spec.streams.{name}.format",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"keys and values of `{name}` are Avro, whose schemas a registry has: name it in "
            f"`spec.systems.{stream.system}.kafka.schemaRegistry`",
        )
    elif stream.format is StreamFormat.AVRO and stream.avro.record_schema is not None:
        yield superfluous_option(name, ("avro",), f"the registry has the schemas of the keys and values of `{name}`")
    if schema is not None:
        for column in stream.debezium.columns:
            yield from _check_beside(name, stream, schema, column)


def _check_beside(name: str, stream: StreamSpec, schema: Schema, column: str) -> Iterator[Problem]:
    """Find what is wrong with a column that stands beside the rows."""
    path, place = f"spec.streams.{name}.debezium.columns.{column}", stream.debezium.columns[column]
    if column not in schema.names:
        columns = ", ".join(f"`{other}`" for other in schema.names)
        message = f"`{name}` has no column `{column}`; columns: {columns}"
        yield Problem(path=path, code=ProblemCode.UNKNOWN_COLUMN, message=message)
        return
    if list(stream.debezium.columns.values()).count(place) > 1:
        yield _invalid(path, f"`{place}` is that of two columns: a `map` makes copies")
    if column.lower() in map(str.lower, stream.key_columns):
        yield _invalid(path, f"`{column}` is the key, a column of the table")
    if column in stream.json_options.fields:
        yield _invalid(path, f"`json.fields` has the names of a row's fields, and `{column}` is none of them")
    declared = schema.columns[schema.names.index(column)].type
    if place == KIND and declared.kind is not TypeKind.STRING:
        yield _mismatch(path, f"`{column}` is {declared}, and `{KIND}` is a string")
    if time_name(place) is not None and declared.kind not in (TypeKind.BIGINT, TypeKind.TIMESTAMP):
        yield _mismatch(path, f"`{column}` is {declared}, and `{place}` is a time: a timestamp, or a bigint")
    if time_name(place) is None and declared.kind is TypeKind.TIMESTAMP:
        yield _mismatch(path, f"`{column}` is a timestamp, and only ts_ms, ts_us and ts_ns are times")


def _invalid(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.INVALID_SPEC, message=message)


def _mismatch(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.TYPE_MISMATCH, message=message)
