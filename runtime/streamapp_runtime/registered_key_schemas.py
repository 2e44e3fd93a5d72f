"""The schemas that registries have of keys: of what is read, judged; of what is written, registered."""

import json
from collections.abc import Iterator, Mapping

from streamapp_core.avro.avro_columns import find_mismatches
from streamapp_core.avro.avro_key_schemas import record_of_key
from streamapp_core.avro.avro_schema import AvroSchemaError, parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of, record_name
from streamapp_core.plan.check_avro_keys import key_columns_of
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema
from streamapp_core.schema_mismatch import check_key_fields
from streamapp_core.spec.streams import KeyFormat, StreamChanges
from streamapp_runtime.registered_schemas import ASKED_SECONDS
from streamapp_systems.kafka import AVRO, RegisteredSchema, SchemaRegistryClient
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import Systems
from streamapp_systems.schema_header import header_of


def find_key_schema_problems(plan: Plan, systems: Systems) -> Iterator[Problem]:
    """Find keys of what is read that are not the declared ones, and schemas that subjects refuse.

    Raises:
        StreamSystemError: a registry can't be asked.
    """
    for stream, columns, registry in _with_avro_keys(plan, systems):
        find = _output_problems if stream.role is StreamRole.OUTPUT else _input_problems
        alike = keys_have_one_schema(plan, stream)
        for message in find(stream, columns, registry, alike=alike):
            yield Problem(path=f"spec.streams.{stream.name}.key", code=ProblemCode.NOT_SUPPORTED, message=message)


def register_key_schemas(plan: Plan, systems: Systems) -> None:
    """Register the schemas of the keys of all outputs that are Avro.

    Raises:
        StreamSystemError: a registry does not answer, or refuses a schema.
    """
    for stream, columns, registry in _with_avro_keys(plan, systems):
        if stream.role is StreamRole.OUTPUT:
            registry.register(_subject(stream), _written_schema(stream, columns))


def key_headers(plan: Plan, systems: Systems) -> Mapping[str, bytes]:
    """Return what the keys of outputs begin with, where they are Avro: the ids of their schemas.

    Raises:
        StreamSystemError: a registry does not answer, or does not know a schema.
    """
    headers = {}
    for stream, columns, registry in _with_avro_keys(plan, systems):
        if stream.role is not StreamRole.OUTPUT:
            continue
        number = registry.id_of(_subject(stream), _written_schema(stream, columns))
        if number is None:
            raise StreamSystemError(
                f"{registry}: the schema of the keys of `{stream.name}` is not registered as {_subject(stream)} any "
                "more. Start the app again, which registers it"
            )
        headers[stream.name] = header_of(number)
    return headers


def keys_have_one_schema(plan: Plan, stream: PlannedStream) -> bool:
    """Return whether all keys of a stream must have one schema, as its id is a part of their bytes.

    By these bytes a row is in its partition, and what is compacted knows which rows are replaced and deleted.
    """
    types = [stream.type, *(plan.operators[name].type for name in stream.producers)]
    fills_table = any(stream.name in table.spec.side_inputs for table in plan.tables.values())
    return stream.partitions > 1 or fills_table or any(isinstance(found.changes, Upsert) for found in types)


def first_key_schema(stream: PlannedStream, registry: SchemaRegistryClient) -> int | None:
    """Return the id of the oldest schema that a registry has of a stream's keys; None: it has none.

    Raises:
        StreamSystemError: the registry does not answer.
    """
    versions = registry.versions(_subject(stream))
    return registry.version_id(_subject(stream), versions[0]) if versions else None


def _with_avro_keys(plan: Plan, systems: Systems) -> Iterator[tuple[PlannedStream, Schema, SchemaRegistryClient]]:
    """Yield the streams whose keys are Avro, with the columns of these."""
    for stream in plan.streams.values():
        if stream.spec is None or stream.key_format is not KeyFormat.AVRO or stream.schema is None:
            continue
        if stream.spec.changes is not StreamChanges.DEBEZIUM:
            registry = systems.open_schema_registry(
                stream.system, plan.app.system(stream.system), timeout=ASKED_SECONDS
            )
            yield stream, key_columns_of(stream.schema, stream.spec), registry


def _input_problems(
    stream: PlannedStream, columns: Schema, registry: SchemaRegistryClient, *, alike: bool
) -> Iterator[str]:
    subject = _subject(stream)
    versions = registry.versions(subject)
    if len(versions) > 1 and alike:
        yield (
            f"{subject} has {len(versions)} schemas, whose ids are a part of keys: the rows of one key may be in two "
            f"partitions of `{stream.name}`, and where it is compacted, a row that was deleted by a key of one schema "
            "comes back by that of another. Write the topic again with one schema of keys; or, if its rows stay, leave "
            "out `key` and `keyFormat`, and read it through a `partitionBy`"
        )
    found = registry.version(subject, versions[-1]) if versions else None
    if found is None:
        return
    source = f"schema {versions[-1]} of {subject}"
    if found.kind != AVRO:
        yield f"{source}: it is {found.kind}, not Avro"
        return
    try:
        written = parse_avro_schema(found.text, *(text for _, text in found.references))
        record = record_of_key(written, columns.names[0]) if len(columns.names) == 1 else written
        check_key_fields([field.name for field in record.fields], frozenset(columns.names))
    except (AvroSchemaError, ValueError) as error:
        yield f"{source}: {error}"
        return
    for mismatch in find_mismatches(record, columns):
        yield f"{source}: `{mismatch.path}`: {mismatch.reason}"


def _output_problems(
    stream: PlannedStream, columns: Schema, registry: SchemaRegistryClient, *, alike: bool
) -> Iterator[str]:
    subject, written = _subject(stream), _written_schema(stream, columns)
    reason = registry.incompatibility(subject, written)
    if reason is not None:
        yield (
            f"the schema of its keys is not compatible with the newest of {subject}: {reason}; change the "
            "columns of the key, or write another topic"
        )
        return
    others = len(registry.versions(subject)) - (registry.id_of(subject, written) is not None)
    if alike and others:
        yield (
            f"{subject} has another schema than that of its keys ({written.text}), and the id of a schema is a part of "
            "keys: what is written would not replace what is there, and the rows of one key may be in two partitions. "
            f"Write another topic; or, if no records with other keys are left, delete the other schemas of {subject}"
        )


def _subject(stream: PlannedStream) -> str:
    return f"{stream.address}-key"


def _written_schema(stream: PlannedStream, columns: Schema) -> RegisteredSchema:
    assert stream.spec is not None, "an output is declared"
    name = f"{stream.spec.avro.record_name or record_name(stream.address)}Key"
    return RegisteredSchema(text=json.dumps(avro_schema_of(columns, name)), kind=AVRO)
