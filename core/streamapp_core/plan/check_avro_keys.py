"""Streams whose records have keys of Avro: a registry has their schemas, and columns what the keys hold."""

from collections.abc import Iterator

from streamapp_core.avro.avro_columns import find_unreadable
from streamapp_core.avro.avro_writing import find_unwritable
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import several_schemas_problems
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import KeyFormat, StreamChanges, StreamSpec
from streamapp_core.spec.systems import SystemSpec


def key_columns_of(schema: Schema, stream: StreamSpec) -> Schema:
    """Return the columns of a stream's key, in its order; one that the schema lacks is left out."""
    return Schema(tuple(column for column in map(schema.get, stream.key_columns) if column is not None))


def check_avro_keys(
    graph: Graph, rows: RowFlow, name: str, stream: StreamSpec, system: SystemSpec
) -> Iterator[Problem]:
    """Find everything that is wrong with a stream whose `keyFormat` is `avro`, as far as no registry is asked."""
    if stream.key_format is not KeyFormat.AVRO or stream.control_messages or stream.changes is StreamChanges.DEBEZIUM:
        return
    path = f"spec.streams.{name}.keyFormat"
    if system.schema_registry is None:
        yield _problem(
            path,
            f"keys of `{name}` are Avro, whose schemas a registry has: name it in "
            f"`spec.systems.{stream.system}.kafka.schemaRegistry`"
            + ("" if system.kafka is not None else "; only systems of Kafka have one"),
        )
    if stream.key is None:
        yield _problem(path, f"nothing says which columns the keys of `{name}` hold: name them in its `key`")
        return
    schemas = stream_schemas(graph, rows, name)
    if name in graph.senders:
        yield from several_schemas_problems(name, list(dict.fromkeys(schemas)))
        for schema in schemas:
            for column, reason in find_unwritable(key_columns_of(schema, stream)):
                yield _problem(path, f"`{column}` can't be part of a key of Avro: {reason}")
        return
    for schema in schemas:
        for mismatch in find_unreadable(key_columns_of(schema, stream)):
            yield _problem(path, f"`{mismatch.path}` can't be part of a key of Avro: {mismatch.reason}")


def _problem(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message)
