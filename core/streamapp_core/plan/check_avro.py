"""Streams of Avro: the schema of what is read, the columns of what is written, and options that fit no stream."""

from collections.abc import Iterator

from streamapp_core.avro.avro_columns import find_mismatches, find_unreadable
from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.avro.avro_targets import find_unwritable_by
from streamapp_core.avro.avro_writing import find_unwritable
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.debezium_envelopes import envelope_schema
from streamapp_core.plan.message_schemas import (
    message_streams,
    missing_file_problem,
    no_schema_problem,
    schema_problem,
    sent_schemas,
    several_schemas_problems,
    superfluous_option,
    unreadable_schema_problem,
    unwritable_problems,
    written_schema_problem,
)
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Problem
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import StreamChanges, StreamFormat, StreamSpec


def check_avro(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find everything that is wrong with streams of Avro, as far as no registry is asked."""
    for name, stream, system in message_streams(graph, StreamFormat.AVRO):
        if name in graph.senders:
            yield from _check_output(graph, rows, name, stream)
            continue
        schema = rows.schemas.get(name)
        if schema is not None and stream.changes is StreamChanges.DEBEZIUM:
            schema = envelope_schema(schema, stream)
        yield from _check_input(graph, name, stream, schema, registered=bool(system.schema_registry))


def _check_input(
    graph: Graph, name: str, stream: StreamSpec, schema: Schema | None, *, registered: bool
) -> Iterator[Problem]:
    text, file = stream.avro.record_schema, stream.avro.schema_file
    if stream.avro.record_name is not None:
        yield superfluous_option(name, ("avro", "recordName"), f"`{name}` is read, and its records have names already")
    if text is None:
        if file is not None:
            yield missing_file_problem(name, "avro", file)
        elif not registered:
            yield no_schema_problem(graph, name, "avro")
        for mismatch in () if schema is None else find_unreadable(schema):
            yield schema_problem(name, mismatch, "Avro")
        return
    record = _parse(name, text, file)
    if isinstance(record, Problem):
        yield record
        return
    for mismatch in () if schema is None else find_mismatches(record, schema):
        yield schema_problem(name, mismatch, f"`{file or 'avro.schema'}`")


def _check_output(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    text, file = stream.avro.record_schema, stream.avro.schema_file
    if text is None and file is None:
        yield from unwritable_problems(graph, rows, name, "Avro", find_unwritable)
        return
    if stream.avro.record_name is not None:
        yield superfluous_option(name, ("avro", "recordName"), "records have the name that their schema says")
    schemas = sent_schemas(graph, rows, name)
    yield from several_schemas_problems(name, schemas)
    if text is None:
        yield missing_file_problem(name, "avro", file or "")
        return
    record = _parse(name, text, file)
    if isinstance(record, Problem):
        yield record
        return
    for schema in schemas:
        for mismatch in find_unwritable_by(record, schema):
            yield written_schema_problem(name, "avro", file, mismatch)


def _parse(name: str, text: str, file: str | None) -> AvroType | Problem:
    try:
        return parse_avro_schema(text)
    except AvroSchemaError as error:
        return unreadable_schema_problem(name, "avro", file, error)
