"""Streams of Avro: the schema of what is read, the columns of what is written, and options that fit no stream."""

from collections.abc import Iterator

from streamapp_core.avro.avro_columns import AvroMismatch, find_mismatches, find_unreadable
from streamapp_core.avro.avro_schema import AvroSchemaError, parse_avro_schema
from streamapp_core.avro.avro_writing import find_unwritable
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.debezium_envelopes import envelope_schema
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import AvroOptions, StreamChanges, StreamFormat, StreamSpec


def check_avro(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find everything that is wrong with streams of Avro, as far as no registry is asked."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None:
            continue
        if stream.format is not StreamFormat.AVRO or stream.control_messages or not system.kind.transactional:
            if stream.avro != AvroOptions():
                yield _superfluous(name, (), f"values of `{name}` are no Avro, and `avro` is about those that are")
        elif name in graph.senders:
            yield from _check_output(graph, rows, name, stream)
        else:
            schema = rows.schemas.get(name)
            if schema is not None and stream.changes is StreamChanges.DEBEZIUM:
                schema = envelope_schema(schema, stream)
            yield from _check_input(name, stream, schema, registered=bool(system.schema_registry))


def schema_problem(name: str, mismatch: AvroMismatch, source: str) -> Problem:
    """Return the problem of a column that values of a schema don't fit; `source` says whose schema it is."""
    code = ProblemCode.UNKNOWN_COLUMN if mismatch.missing else ProblemCode.TYPE_MISMATCH
    column = f"`{mismatch.path}`: " if mismatch.path else ""
    return Problem(path=f"spec.streams.{name}.schema", code=code, message=f"{source}: {column}{mismatch.reason}")


def _check_input(name: str, stream: StreamSpec, schema: Schema | None, *, registered: bool) -> Iterator[Problem]:
    path, text = f"spec.streams.{name}", stream.avro.record_schema
    if stream.avro.record_name is not None:
        yield _superfluous(name, ("recordName",), f"`{name}` is read, and its records have names already")
    if text is None:
        if not registered:
            yield Problem(
                path=f"{path}.avro",
                code=ProblemCode.INVALID_SPEC,
                message=f"nothing says which schema values of `{name}` have: write it as `avro.schema`, or name the "
                f"registry that has it in `spec.systems.{stream.system}.kafka.schemaRegistry`",
            )
        for mismatch in () if schema is None else find_unreadable(schema):
            yield schema_problem(name, mismatch, "Avro")
        return
    try:
        record = parse_avro_schema(text)
    except AvroSchemaError as error:
        yield Problem(path=f"{path}.avro.schema", code=ProblemCode.INVALID_SPEC, message=str(error))
        return
    for mismatch in () if schema is None else find_mismatches(record, schema):
        yield schema_problem(name, mismatch, "`avro.schema`")


def _check_output(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    if stream.avro.record_schema is not None:
        yield _superfluous(name, ("schema",), f"`{name}` is written, and its schema is made of the columns of its rows")
    sent = [rows.schemas.get(sender.inputs[0]) for sender in graph.senders[name]]
    schemas = list(dict.fromkeys(schema for schema in sent if schema is not None))
    if len(schemas) > 1:
        yield Problem(
            path=f"spec.streams.{name}",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` has one schema, and what is sent to it has several: "
            f"{' and '.join(f'({schema})' for schema in schemas)}; select the same columns in the same order",
        )
    for schema in schemas:
        for column, reason in find_unwritable(schema):
            yield Problem(
                path=f"spec.streams.{name}",
                code=ProblemCode.NOT_SUPPORTED,
                message=f"column `{column}` of `{name}` can't be written as Avro: {reason}",
            )


def _superfluous(name: str, field: tuple[str, ...], message: str) -> Problem:
    place = ("avro", *field)
    path = ".".join(("spec.streams", name, *place))
    return Problem(
        path=path,
        code=ProblemCode.NOT_SUPPORTED,
        message=message,
        repair=Repair(
            text=f"remove `{path}`", edits=(Edit(op="remove", pointer="/".join(("/spec/streams", name, *place))),)
        ),
    )
