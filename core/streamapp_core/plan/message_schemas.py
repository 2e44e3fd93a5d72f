"""Problems of streams whose messages have one schema: those of Avro, Protobuf and CSV."""

from collections.abc import Callable, Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.schema_mismatch import SchemaMismatch
from streamapp_core.spec.streams import StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind, SystemSpec


def message_streams(graph: Graph, of: StreamFormat) -> Iterator[tuple[str, StreamSpec, SystemSpec]]:
    """Yield the streams whose messages have that format, with their names and systems."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if stream.format is not of or stream.control_messages or name in graph.opaque or system is None:
            continue
        if system.kind.transactional:
            yield name, stream, system


def schema_problem(name: str, mismatch: SchemaMismatch, source: str) -> Problem:
    """Return the problem of a column that values of a schema don't fit; `source` says whose schema it is."""
    return _mismatch_problem(f"spec.streams.{name}.schema", mismatch, f"{source}: ")


def written_schema_problem(name: str, field: str, file: str | None, mismatch: SchemaMismatch) -> Problem:
    """Return the problem of a column that a given schema does not hold, or of a field that none fills."""
    return _mismatch_problem(_given_schema(name, field, file), mismatch)


def no_schema_problem(graph: Graph, name: str, field: str) -> Problem:
    """Return the problem of a stream whose values have a schema that nothing says; `field` is where the spec has it."""
    system = graph.spec.streams[name].system
    registry = f", or name the registry that has it in `spec.systems.{system}.kafka.schemaRegistry`"
    return Problem(
        path=f"spec.streams.{name}.{field}",
        code=ProblemCode.INVALID_SPEC,
        message=f"nothing says which schema values of `{name}` have: write it as `{field}.schema`"
        f"{registry if graph.spec.systems[system].kind is SystemKind.KAFKA else ''}",
    )


def unreadable_schema_problem(name: str, field: str, file: str | None, error: Exception) -> Problem:
    """Return the problem of a schema that is none, or is not supported; `file` is that which it stands in."""
    message = str(error) if file is None else f"{file}: {error}"
    return Problem(path=_given_schema(name, field, file), code=ProblemCode.INVALID_SPEC, message=message)


def missing_file_problem(name: str, field: str, file: str) -> Problem:
    """Return the problem of a stream whose schema stands in a file that nobody could read; `field` has its options."""
    return Problem(
        path=_given_schema(name, field, file),
        code=ProblemCode.INVALID_SPEC,
        message=f"the text of `{file}` is not here: it is a file in UTF-8, named from the folder of the app; for "
        "Kubernetes, `streamapp bundle APP.yaml` writes a resource that has it as `schema`",
    )


def sent_schemas(graph: Graph, rows: RowFlow, name: str) -> list[Schema]:
    """Return the columns of the rows that are sent to an output, each once."""
    sent = [rows.schemas.get(sender.inputs[0]) for sender in graph.senders.get(name, ())]
    return list(dict.fromkeys(schema for schema in sent if schema is not None))


def several_schemas_problems(name: str, schemas: list[Schema]) -> Iterator[Problem]:
    """Find that an output, which has one schema, is sent rows of several."""
    if len(schemas) > 1:
        yield Problem(
            path=f"spec.streams.{name}",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` has one schema, and what is sent to it has several: "
            f"{' and '.join(f'({schema})' for schema in schemas)}; select the same columns in the same order",
        )


def unwritable_problems(
    graph: Graph, rows: RowFlow, name: str, title: str, find_unwritable: Callable[[Schema], Iterator[tuple[str, str]]]
) -> Iterator[Problem]:
    """Find that an output is sent rows of several schemas, or columns that its format, `title`, can't hold."""
    schemas = sent_schemas(graph, rows, name)
    yield from several_schemas_problems(name, schemas)
    for schema in schemas:
        for column, reason in find_unwritable(schema):
            yield Problem(
                path=f"spec.streams.{name}",
                code=ProblemCode.NOT_SUPPORTED,
                message=f"column `{column}` of `{name}` can't be written as {title}: {reason}",
            )


def superfluous_option(name: str, place: tuple[str, ...], message: str) -> Problem:
    """Return the problem of an option that fits no such stream, with its removal."""
    path = ".".join(("spec.streams", name, *place))
    return Problem(
        path=path,
        code=ProblemCode.NOT_SUPPORTED,
        message=message,
        repair=Repair(
            text=f"remove `{path}`", edits=(Edit(op="remove", pointer="/".join(("/spec/streams", name, *place))),)
        ),
    )


def _given_schema(name: str, field: str, file: str | None) -> str:
    """Return the path of a schema that the spec gives, or of the file's name that has it."""
    return f"spec.streams.{name}.{field}.{'schema' if file is None else 'schemaFile'}"


def _mismatch_problem(path: str, mismatch: SchemaMismatch, source: str = "") -> Problem:
    code = ProblemCode.UNKNOWN_COLUMN if mismatch.missing else ProblemCode.TYPE_MISMATCH
    column = f"`{mismatch.path}`: " if mismatch.path else ""
    return Problem(path=path, code=code, message=f"{source}{column}{mismatch.reason}")
