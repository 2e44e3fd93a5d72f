"""The schemas of Avro that registries have: of what is read, judged and found by id; of what is written, registered."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from streamapp_core.avro.avro_columns import find_mismatches
from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of, record_name
from streamapp_core.plan.check_avro import schema_problem
from streamapp_core.plan.debezium_envelopes import envelope_schema
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import AvroOptions, StreamChanges, StreamFormat
from streamapp_systems.avro.avro_header import header_of
from streamapp_systems.kafka import RegisteredSchema, SchemaRegistryClient
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import Systems

_AVRO = "AVRO"
_ASKED_SECONDS = 10.0
"""For how long a registry may be silent while a person waits."""


class RegisteredWriters:
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
        return _parsed(found)


def find_schema_problems(plan: Plan, systems: Systems) -> tuple[Problem, ...]:
    """Find the columns that the newest schemas of what is read don't fit, and schemas that subjects refuse.

    Raises:
        StreamSystemError: a registry can't be asked.
    """
    problems: list[Problem] = []
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
        headers[stream.name] = header_of(number)
    return headers


def _registered(plan: Plan, systems: Systems) -> Iterator[tuple[PlannedStream, SchemaRegistryClient]]:
    """Yield the streams of Avro whose schemas a registry has."""
    for stream in plan.streams.values():
        if stream.format is not StreamFormat.AVRO or _options(stream).record_schema is not None:
            continue
        system = plan.app.system(stream.system)
        if system.schema_registry is not None:
            yield stream, systems.open_schema_registry(stream.system, system, timeout=_ASKED_SECONDS)


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
        if found is None or (found.kind != _AVRO and not newest):
            continue
        source = f"schema {number} of {subject}"
        try:
            mismatches = list(find_mismatches(_parsed(found), schema))
        except AvroSchemaError as error:
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


def _output_problems(stream: PlannedStream, registry: SchemaRegistryClient) -> Iterator[Problem]:
    reason = registry.incompatibility(_subject(stream), _written_schema(stream))
    if reason is not None:
        yield Problem(
            path=f"spec.streams.{stream.name}",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"the schema of its rows is not compatible with the newest of {_subject(stream)}: {reason}; change "
            "the columns or `avro.recordName`, or write another topic",
        )


def _subject(stream: PlannedStream) -> str:
    return f"{stream.address}-value"


def _written_schema(stream: PlannedStream) -> str:
    assert stream.schema is not None, "what is sent to a stream of Avro has one schema, which the planner checks"
    name = _options(stream).record_name or record_name(stream.address)
    return json.dumps(avro_schema_of(stream.schema, name))


def _options(stream: PlannedStream) -> AvroOptions:
    return AvroOptions() if stream.spec is None else stream.spec.avro


def _parsed(found: RegisteredSchema) -> AvroType:
    """Return a schema of Avro.

    Raises:
        AvroSchemaError: it is none.
    """
    if found.kind != _AVRO:
        raise AvroSchemaError(f"it is {found.kind}, not Avro")
    *named, text = found.texts
    return parse_avro_schema(text, *named)
