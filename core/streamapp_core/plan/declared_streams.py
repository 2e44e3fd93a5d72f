"""The declarations of streams: their schemas, keys and event times (docs/concepts.md)."""

from collections.abc import Mapping

from streamapp_core.avro.avro_columns import columns_of_avro
from streamapp_core.avro.avro_schema import AvroSchemaError, parse_avro_schema
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.check_protobuf import declared_message
from streamapp_core.plan.joined_columns import missing_column
from streamapp_core.plan.message_schemas import unreadable_schema_problem
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.problems import ProblemCode
from streamapp_core.protobuf.proto_columns import columns_of_message
from streamapp_core.protobuf.proto_files import ProtoError
from streamapp_core.schema import Schema, SchemaError, TypeKind
from streamapp_core.spec.streams import StreamChanges, StreamFormat, StreamSpec

_EVENT_TIMES = (TypeKind.TIMESTAMP, TypeKind.BIGINT)


def read_schemas(graph: Graph, collector: ProblemCollector) -> Mapping[str, Schema | None]:
    """Find the schema of every declared stream; problems go to `collector`.

    A side input without a schema has that of its table. What is read must have one; outputs have that of the rows
    sent to them.
    """
    return {
        name: _read_schema(graph, name, stream, collector)
        for name, stream in graph.spec.streams.items()
        if name not in graph.opaque
    }


def check_outputs(graph: Graph, schemas: Mapping[str, Schema | None], collector: ProblemCollector) -> None:
    """Check that the rows sent to an output have its key column."""
    for name, senders in graph.senders.items():
        stream = graph.spec.streams.get(name)
        if stream is None or stream.key is None:
            continue
        for sender in senders:
            schema = schemas.get(sender.inputs[0])
            for column in stream.key_columns:
                missing = None if schema is None else missing_column(column, schema, sender.inputs[0])
                if missing is not None:
                    collector.add(
                        f"spec.streams.{name}.key", ProblemCode.UNKNOWN_COLUMN, f"{missing}, and is sent to `{name}`"
                    )


def _read_schema(graph: Graph, name: str, stream: StreamSpec, collector: ProblemCollector) -> Schema | None:
    path = f"spec.streams.{name}"
    if stream.stream_schema is not None:
        schema = collector.parse(f"{path}.schema", stream.stream_schema)
    elif _is_described(stream) and name not in graph.senders:
        schema = _described_columns(name, stream, collector)
    elif name in graph.readers:
        schema = None
        collector.add(
            path, ProblemCode.INVALID_SPEC, f"`{name}` is read, so it needs a `schema`: its columns and types"
        )
    elif name in graph.side_inputs:
        schema = _schema_of_table(graph, name, collector)
    else:
        schema = None
    if schema is not None and name not in graph.senders:
        _check_columns(name, stream, schema, collector)
    return schema


def _is_described(stream: StreamSpec) -> bool:
    """Return whether the spec has the schema of a stream's values, and they are rows; envelopes have other columns."""
    given = {
        StreamFormat.AVRO: (stream.avro.record_schema, stream.avro.schema_file),
        StreamFormat.PROTOBUF: (stream.protobuf.message_schema, stream.protobuf.schema_file),
    }
    return given.get(stream.format, (None, None)) != (None, None) and stream.changes is not StreamChanges.DEBEZIUM


def _described_columns(name: str, stream: StreamSpec, collector: ProblemCollector) -> Schema | None:
    """Return the columns of a stream's schema; None if it is none, or in a file that nobody could read."""
    try:
        if stream.format is StreamFormat.PROTOBUF:
            text, file = stream.protobuf.message_schema, stream.protobuf.schema_file
            return None if text is None else columns_of_message(declared_message(stream.protobuf))
        text, file = stream.avro.record_schema, stream.avro.schema_file
        return None if text is None else columns_of_avro(parse_avro_schema(text))
    except (AvroSchemaError, ProtoError, SchemaError) as error:
        collector.problems.append(unreadable_schema_problem(name, stream.format, file, error))
        return None


def _schema_of_table(graph: Graph, name: str, collector: ProblemCollector) -> Schema | None:
    tables = [graph.spec.tables[table] for table in graph.side_inputs[name]]
    text = next((table.table_schema for table in tables if table.table_schema is not None), None)
    if text is not None:
        return collector.parse(f"spec.tables.{graph.side_inputs[name][0]}.schema", text)
    collector.add(
        f"spec.streams.{name}",
        ProblemCode.INVALID_SPEC,
        f"`{name}` fills table `{graph.side_inputs[name][0]}`; one of them needs a `schema`",
    )
    return None


def _check_columns(name: str, stream: StreamSpec, schema: Schema, collector: ProblemCollector) -> None:
    path = f"spec.streams.{name}"
    for key in stream.key_columns:
        if (missing := missing_column(key, schema, name)) is not None:
            collector.add(f"{path}.key", ProblemCode.UNKNOWN_COLUMN, missing)
    if stream.event_time is None:
        return
    for number, place in enumerate(stream.event_time.columns):
        at = f"{path}.eventTime.{f'orElse[{number - 1}]' if number else 'column'}"
        column = schema.find(place)
        if column is None:
            collector.add(at, ProblemCode.UNKNOWN_COLUMN, missing_column(place, schema, name) or "")
        elif column.type.kind not in _EVENT_TIMES:
            collector.add(
                at,
                ProblemCode.TYPE_MISMATCH,
                f"`{place}` is {column.type}; an event time is a timestamp, or a bigint of milliseconds since 1970",
            )
