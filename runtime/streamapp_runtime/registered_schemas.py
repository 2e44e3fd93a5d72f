"""The schemas that registries have: of what is read, judged and found by id; of what is written, registered."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from google.protobuf.descriptor import FileDescriptor

from streamapp_core.avro.avro_columns import find_mismatches as find_avro_mismatches
from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of, record_name
from streamapp_core.plan.debezium_envelopes import envelope_schema
from streamapp_core.plan.message_schemas import schema_problem
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.protobuf.proto_columns import find_mismatches as find_proto_mismatches
from streamapp_core.protobuf.proto_files import ProtoError, compile_proto, registered_message
from streamapp_core.protobuf.proto_writing import find_renumbered, message_name, proto_text_of
from streamapp_core.schema import Schema
from streamapp_core.schema_mismatch import SchemaMismatch
from streamapp_core.spec.streams import AvroOptions, ProtobufOptions, StreamChanges, StreamFormat, StreamSpec
from streamapp_runtime.table_schemas import find_table_problems
from streamapp_systems.kafka import AVRO, PROTOBUF, RegisteredSchema, SchemaRegistryClient
from streamapp_systems.protobuf.message_indexes import FIRST_MESSAGE
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import Systems
from streamapp_systems.schema_header import header_of

_KINDS = {StreamFormat.AVRO: AVRO, StreamFormat.PROTOBUF: PROTOBUF}
ASKED_SECONDS = 10.0
"""For how long a registry may be silent while a person waits."""


class RegistrySchemas:
    """The schemas of a registry by id, as messages name them; it is opened when the first is asked for."""

    def __init__(self, open_registry: Callable[[], SchemaRegistryClient]) -> None:
        self._open = open_registry

    @cached_property
    def _registry(self) -> SchemaRegistryClient:
        return self._open()

    def writer(self, number: int) -> AvroType:
        """See `WriterSchemas.writer`."""
        found = self._registry.schema(number)
        if found is None:
            raise AvroSchemaError(f"there is none with this id in the {self._registry}")
        return _record(found)

    def file(self, number: int) -> FileDescriptor:
        """See `WriterFiles.file`."""
        found = self._registry.schema(number)
        if found is None:
            raise ProtoError(f"there is none with this id in the {self._registry}")
        return _file(found)


def find_schema_problems(plan: Plan, systems: Systems) -> tuple[Problem, ...]:
    """Find the columns that tables and the newest schemas of what is read don't fit, and schemas that subjects refuse.

    Raises:
        StreamSystemError: a registry can't be asked, or a table can't be read.
    """
    problems = list(find_table_problems(plan, systems))
    for stream, registry in _registered(plan, systems):
        if stream.role is StreamRole.OUTPUT:
            problems += _output_problems(stream, registry)
        elif stream.schema is not None:
            problems += _input_problems(stream, _read_columns(stream, stream.schema), registry)
    return sorted_problems(problems)


def register_schemas(plan: Plan, systems: Systems) -> None:
    """Register the schemas of all outputs that have a registry.

    Raises:
        StreamSystemError: a registry does not answer, or refuses a schema.
    """
    for stream, registry in _registered(plan, systems):
        if stream.role is StreamRole.OUTPUT:
            registry.register(_subject(stream), _written_schema(stream))


def output_headers(plan: Plan, systems: Systems) -> Mapping[str, bytes]:
    """Return what values of registered outputs begin with: the ids of their schemas.

    Raises:
        StreamSystemError: a registry does not answer, or does not know a schema.
    """
    headers = {}
    for stream, registry in _registered(plan, systems):
        if stream.role is not StreamRole.OUTPUT:
            continue
        number = registry.id_of(_subject(stream), _written_schema(stream))
        if number is None:
            raise StreamSystemError(
                f"{registry}: the schema of `{stream.name}` is not registered as {_subject(stream)} any more. Start "
                "the app again, which registers it"
            )
        headers[stream.name] = header_of(number) + (FIRST_MESSAGE if stream.format is StreamFormat.PROTOBUF else b"")
    return headers


def with_written_schema(stream: PlannedStream) -> StreamSpec | None:
    """Return the declaration of an output with the schema of its values, for who reads them without a registry."""
    if stream.spec is None or stream.schema is None or stream.format not in _KINDS:
        return stream.spec
    text = _written_schema(stream).text
    if stream.format is StreamFormat.AVRO:
        return stream.spec.model_copy(update={"avro": AvroOptions(schema=text)})
    return stream.spec.model_copy(update={"protobuf": ProtobufOptions(schema=text)})


def _registered(plan: Plan, systems: Systems) -> Iterator[tuple[PlannedStream, SchemaRegistryClient]]:
    """Yield the streams whose schemas a registry has."""
    for stream in plan.streams.values():
        if stream.format not in _KINDS or stream.spec is None:
            continue
        if stream.role is not StreamRole.OUTPUT and _is_described(stream.spec):
            continue
        system = plan.app.system(stream.system)
        if system.schema_registry is not None:
            yield stream, systems.open_schema_registry(stream.system, system, timeout=ASKED_SECONDS)


def _is_described(stream: StreamSpec) -> bool:
    return stream.avro.record_schema is not None or stream.protobuf.message_schema is not None


def _read_columns(stream: PlannedStream, schema: Schema) -> Schema:
    """Return what is read of values: the columns of rows, or the parts of envelopes that have them."""
    enveloped = stream.spec is not None and stream.spec.changes is StreamChanges.DEBEZIUM
    return envelope_schema(schema, stream.spec) if enveloped and stream.spec is not None else schema


def _input_problems(stream: PlannedStream, schema: Schema, registry: SchemaRegistryClient) -> Iterator[Problem]:
    """Find columns that the newest schema does not fit; a column that it lacks must be in an earlier one."""
    subject = _subject(stream)
    versions = registry.versions(subject)
    missing: dict[str, Problem] = {}
    for number in reversed(versions):
        found = registry.version(subject, number)
        newest = number == versions[-1]
        if found is None or (found.kind != _KINDS[stream.format] and not newest):
            continue
        source = f"schema {number} of {subject}"
        try:
            mismatches = _mismatches(found, stream, schema)
        except (AvroSchemaError, ProtoError) as error:
            if newest:
                path = f"spec.streams.{stream.name}"
                yield Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=f"{source}: {error}")
            continue
        if newest:
            yield from (schema_problem(stream.name, each, source) for each in mismatches if not each.missing)
            missing = {each.path: schema_problem(stream.name, each, source) for each in mismatches if each.missing}
        else:
            missing = {path: missing[path] for path in missing.keys() & {e.path for e in mismatches if e.missing}}
        if not missing:
            return
    yield from missing.values()


def _mismatches(found: RegisteredSchema, stream: PlannedStream, schema: Schema) -> list[SchemaMismatch]:
    """Return the columns that values of a registered schema don't fit.

    Raises:
        AvroSchemaError, ProtoError: it is none that a stream's values could have.
    """
    if stream.format is StreamFormat.AVRO:
        return [*find_avro_mismatches(_record(found), schema)]
    assert stream.spec is not None, "a stream of Protobuf is declared"
    return [*find_proto_mismatches(registered_message(_file(found), stream.spec.protobuf.message), schema)]


def _output_problems(stream: PlannedStream, registry: SchemaRegistryClient) -> Iterator[Problem]:
    subject, written = _subject(stream), _written_schema(stream)
    reason = _renumbered(subject, written, registry) if written.kind == PROTOBUF else None
    if reason is None:
        reason = registry.incompatibility(subject, written)
    if reason is not None:
        given = stream.spec is not None and _is_described(stream.spec)
        name = "avro.schema" if given else "avro.recordName" if written.kind == AVRO else "protobuf.message"
        yield Problem(
            path=f"spec.streams.{stream.name}",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"the schema of its rows is not compatible with the newest of {subject}: {reason}; change "
            f"the columns or `{name}`, or write another topic",
        )


def _renumbered(subject: str, written: RegisteredSchema, registry: SchemaRegistryClient) -> str | None:
    """Return what registries let pass: fields that have another number, or another name, than in the newest schema."""
    versions = registry.versions(subject)
    newest = registry.version(subject, versions[-1]) if versions else None
    if newest is None or newest.kind != PROTOBUF:
        return None
    try:
        before, after = (registered_message(_file(each), None) for each in (newest, written))
    except ProtoError:
        return None
    changes = list(find_renumbered(before, after))
    return ", ".join(changes) if changes else None


def _subject(stream: PlannedStream) -> str:
    return f"{stream.address}-value"


def _written_schema(stream: PlannedStream) -> RegisteredSchema:
    assert stream.schema is not None, "what is sent to a stream has one schema, which the planner checks"
    assert stream.spec is not None, "an output is declared"
    if stream.format is StreamFormat.AVRO:
        name = stream.spec.avro.record_name or record_name(stream.address)
        text = stream.spec.avro.record_schema or json.dumps(avro_schema_of(stream.schema, name))
        return RegisteredSchema(text=text, kind=AVRO)
    name = stream.spec.protobuf.message or message_name(stream.address)
    return RegisteredSchema(text=proto_text_of(stream.schema, name), kind=PROTOBUF)


def _record(found: RegisteredSchema) -> AvroType:
    """Return a schema of Avro.

    Raises:
        AvroSchemaError: it is none.
    """
    if found.kind != AVRO:
        raise AvroSchemaError(f"it is {found.kind}, not Avro")
    return parse_avro_schema(found.text, *(text for _, text in found.references))


def _file(found: RegisteredSchema) -> FileDescriptor:
    """Return a file of Protobuf.

    Raises:
        ProtoError: it is none.
    """
    if found.kind != PROTOBUF:
        raise ProtoError(f"it is {found.kind}, not Protobuf")
    return compile_proto(found.text, found.references)
