"""Streams of Protobuf: the message of what is read, the columns of what is written, and options that fit no stream."""

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import (
    message_streams,
    missing_file_problem,
    no_schema_problem,
    schema_problem,
    superfluous_option,
    unreadable_schema_problem,
    unwritable_problems,
)
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Problem
from streamapp_core.protobuf.proto_columns import find_mismatches, find_unreadable
from streamapp_core.protobuf.proto_files import ProtoError, compile_proto, find_message
from streamapp_core.protobuf.proto_writing import find_unwritable
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import ProtobufOptions, StreamFormat, StreamSpec


def declared_message(options: ProtobufOptions) -> Descriptor:
    """Return the message that a spec has the schema of.

    Raises:
        ProtoError: its text is no schema, or has no such message.
    """
    file = compile_proto(options.message_schema or "", tuple(options.imports.items()))
    return find_message(file, options.message)


def check_protobuf(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find everything that is wrong with streams of Protobuf, as far as no registry is asked."""
    for name, stream, system in message_streams(graph, StreamFormat.PROTOBUF):
        if name in graph.senders:
            yield from _check_output(graph, rows, name, stream)
        else:
            registered = bool(system.schema_registry)
            yield from _check_input(graph, name, stream, rows.schemas.get(name), registered=registered)


def _check_input(
    graph: Graph, name: str, stream: StreamSpec, schema: Schema | None, *, registered: bool
) -> Iterator[Problem]:
    options, file = stream.protobuf, stream.protobuf.schema_file
    if options.message_schema is None:
        if file is not None:
            yield missing_file_problem(name, "protobuf", file)
        elif not registered:
            yield no_schema_problem(graph, name, "protobuf")
        if options.imports:
            yield superfluous_option(
                name, ("protobuf", "imports"), "they are the files that `protobuf.schema` imports, and there is none"
            )
        for mismatch in () if schema is None else find_unreadable(schema):
            yield schema_problem(name, mismatch, "Protobuf")
        return
    try:
        message = declared_message(options)
    except ProtoError as error:
        yield unreadable_schema_problem(name, "protobuf", file, error)
        return
    for mismatch in () if schema is None else find_mismatches(message, schema):
        yield schema_problem(name, mismatch, f"`{file or 'protobuf.schema'}`")


def _check_output(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    for field, given in (("schema", stream.protobuf.message_schema), ("imports", stream.protobuf.imports)):
        if given:
            yield superfluous_option(
                name, ("protobuf", field), f"`{name}` is written, and its schema is made of the columns of its rows"
            )
    yield from unwritable_problems(graph, rows, name, "Protobuf", find_unwritable)
