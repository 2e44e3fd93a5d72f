"""Samples of topics of Kafka: their newest records, JSON objects, or Avro or Protobuf whose schemas a registry has."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.avro.avro_columns import columns_of_avro
from streamapp_core.avro.avro_schema import AvroSchemaError
from streamapp_core.data_types import BIGINT, Column
from streamapp_core.inference.json_fields import guess_json_columns, options_of
from streamapp_core.inference.value_types import wider_types
from streamapp_core.protobuf.proto_columns import columns_of_message
from streamapp_core.protobuf.proto_files import ProtoError, message_at
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import KeyFormat, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.inference.source_sample import ReadRows, SourceSample, fit_columns
from streamapp_runtime.record_reader import RecordReader
from streamapp_runtime.registered_schemas import RegistrySchemas
from streamapp_runtime.rows.message_formats import message_decoder
from streamapp_runtime.rows.partitioning import BINARY_WIDTHS, key_bytes, partition_numbers
from streamapp_systems.kafka import AVRO, PROTOBUF
from streamapp_systems.protobuf.message_indexes import message_header, schema_place
from streamapp_systems.protocols import BadRecord, FetchedBatch, Message, MessageTuple, StreamDescriptor
from streamapp_systems.registry import Systems
from streamapp_systems.schema_header import HEADER, MAGIC

_SYSTEM = "kafka"
_Messages = Mapping[Ssp, Sequence[Message]]


def sample_topic(topic: str, system: SystemSpec, systems: Systems, rows: int) -> SourceSample:
    """Read the newest records of each partition of a topic.

    Raises:
        RuntimeFailure: it is empty, or its values are in no format that can be told.
        StreamSystemError: it does not exist, or can't be read.
    """
    messages = _newest(topic, system, systems, rows)
    known = {ssp: [each for each in found if each.value is not None] for ssp, found in messages.items()}
    values = [message.value or b"" for found in known.values() for message in found]
    if not values:
        raise RuntimeFailure(
            f"topic {topic} has no records with values, so there is nothing to guess from: write some, or write the "
            "app by hand (docs/getting-started.md)"
        )
    described, columns, left_out = _described(topic, values, system, systems)
    registry = RegistrySchemas(partial(systems.open_schema_registry, _SYSTEM, system))
    decoded: dict[str, tuple[Sequence[bytes | None], ...]] = {}

    def read(schema: Schema) -> ReadRows:
        decoder = message_decoder(schema, described, (), registry, "UTC")
        found = [decoder.decode(MessageTuple(each), ssp) for ssp, each in known.items()]
        decoded["keys"] = tuple(each.messages.keys for each in found)
        return ReadRows(
            rows=tuple(each.rows for each in found), unreadable=tuple(bad.reason for each in found for bad in each.bad)
        )

    wider = wider_types if described.format is StreamFormat.JSON else lambda _: ()
    fitted = fit_columns(columns, read, wider)
    deleted = sum(map(len, messages.values())) - len(values)
    return SourceSample(
        label=topic,
        system=system,
        stream=_spec(described, fitted.schema),
        schema=fitted.schema,
        rows=fitted.found.rows,
        partitions=len(messages),
        unreadable=fitted.found.unreadable,
        left_out=(*left_out, *fitted.left_out),
        bounded=False,
        keys=decoded["keys"],
        remarks={"": _remarks(len(values), len(messages), deleted, described)},
    )


def find_key(sample: SourceSample) -> tuple[str, KeyFormat] | str | None:
    """Return the column that is the key of all records, and its form; why it can't be declared; None: there is none."""
    keys = pa.chunked_array([pa.array(list(each), pa.large_binary()) for each in sample.keys])
    if not len(keys) or keys.null_count:
        return None
    for column in sample.schema.columns:
        values = pa.chunked_array([rows.column(column.name).combine_chunks() for rows in sample.rows])
        form = None if column.type.nested or values.null_count else _key_format(values, keys)
        if form is KeyFormat.INT and sample.stream.format is not StreamFormat.JSON and column.type == BIGINT:
            continue  # what a schema writes as a long is not read as an int, and no other column has such a key
        if form is None:
            continue
        for partition, rows in enumerate(sample.rows):
            belong = partition_numbers(pa.chunked_array([rows.column(column.name)]), sample.partitions, form)
            if (belong != partition).any():
                return (
                    f"`{column.name}` is the key of the records, but they are not in the partitions of murmur2, which "
                    "Kafka's Java clients take: so it is not declared (docs/kafka.md)"
                )
        return column.name, form
    return None


def _key_format(values: pa.ChunkedArray, keys: pa.ChunkedArray) -> KeyFormat | None:
    forms = [KeyFormat.STRING]
    if pa.types.is_integer(values.type):
        forms += [form for form, width in BINARY_WIDTHS.items() if {len(key.as_py()) for key in keys} == {width}]
    if not any((pa.types.is_string(values.type), pa.types.is_binary(values.type), pa.types.is_integer(values.type))):
        return None
    for form in forms:
        try:
            written = key_bytes(values.combine_chunks(), form)
        except OverflowError:
            continue
        if pc.all(pc.equal(written, keys.combine_chunks())).as_py():
            return form
    return None


def _newest(topic: str, system: SystemSpec, systems: Systems, rows: int) -> _Messages:
    stream = StreamDescriptor(name=topic, system=_SYSTEM, address=topic, format=StreamFormat.RAW)
    with closing(systems.open_admin(_SYSTEM, system, timeout=FIRST_REQUEST_TIMEOUT)) as admin:
        firsts, ends = admin.start_offsets([stream]), admin.end_offsets([stream])
    if not ends:
        raise RuntimeFailure(f"there is no topic {topic}: correct its name, or the brokers (--bootstrap-servers)")
    reader = RecordReader(
        partial(systems.open_consumer, _SYSTEM, system, [stream]), _messages, ends=ends, rows=rows, bounded=True
    )
    found = reader.last({ssp: firsts.get(ssp, 0) for ssp in ends})
    return {ssp: found[ssp] for ssp in sorted(found)}


def _messages(fetched: FetchedBatch | BadRecord) -> Iterable[Message]:
    return () if isinstance(fetched, BadRecord) else fetched.messages


def _described(
    topic: str, values: Sequence[bytes], system: SystemSpec, systems: Systems
) -> tuple[StreamSpec, Sequence[Column], Sequence[str]]:
    """Return the stream that the values are of, their columns, and the fields that can be none."""
    objects = [each for value in values if (each := _object(value)) is not None]
    if objects:
        found = guess_json_columns(objects)
        spec = StreamSpec(system=_SYSTEM, name=topic, format=StreamFormat.JSON, json=found.options)
        return spec, found.columns, found.left_out
    if not all(len(value) > HEADER and value.startswith(MAGIC) for value in values):
        raise RuntimeFailure(
            f"the values of topic {topic} are no JSON objects, and have no schema ids: the newest begins with "
            f"{values[-1][:40]!r}. docs/formats.md has the formats there are"
        )
    if system.schema_registry is None:
        raise RuntimeFailure(
            f"the values of topic {topic} begin with the id of a schema in a registry: say where that is "
            "(--schema-registry URL)"
        )
    return (*_registered(topic, values[-1], system, systems), ())


def _spec(described: StreamSpec, schema: Schema) -> StreamSpec:
    given = described.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"schema": str(schema)}
    given.pop("json", None)
    options = options_of(schema.columns, described.json_options)
    return StreamSpec.model_validate_json(json.dumps(given | ({"json": options} if options else {})))


def _registered(topic: str, value: bytes, system: SystemSpec, systems: Systems) -> tuple[StreamSpec, Sequence[Column]]:
    """Return the stream whose newest value this is, and the columns of its schema."""
    registry = systems.open_schema_registry(_SYSTEM, system, timeout=FIRST_REQUEST_TIMEOUT)
    number = int.from_bytes(value[1:HEADER], "big")
    found = registry.schema(number)
    kinds = {AVRO: StreamFormat.AVRO, PROTOBUF: StreamFormat.PROTOBUF}
    if found is None or found.kind not in kinds:
        what = "is not there" if found is None else f"is of {found.kind}, which is not supported"
        raise RuntimeFailure(f"the newest value of topic {topic} has schema {number}, which {what} ({registry})")
    given: dict[str, Any] = {"system": _SYSTEM, "name": topic, "format": kinds[found.kind]}
    schemas = RegistrySchemas(lambda: registry)
    try:
        if found.kind == AVRO:
            columns = columns_of_avro(schemas.writer(number))
        else:
            place = schema_place(message_header(value))
            file = schemas.file(number)
            message = message_at(file, (0,) if place is None else place[1])
            columns = columns_of_message(message)
            if len(file.message_types_by_name) > 1:
                given["protobuf"] = {"message": message.full_name}
    except (AvroSchemaError, ProtoError) as error:
        raise RuntimeFailure(f"schema {number} of topic {topic}: {error}") from error
    return StreamSpec.model_validate_json(json.dumps(given)), columns.columns


def _object(value: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(value, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _remarks(values: int, partitions: int, deleted: int, stream: StreamSpec) -> list[str]:
    remarks = [
        f"Guessed from the newest {values:,} records of {partitions:,} partition{'s' if partitions > 1 else ''}."
    ]
    if stream.format is not StreamFormat.JSON:
        remarks.append("Columns are those of the newest record's schema in the registry.")
    if deleted:
        remarks.append(
            f"{deleted:,} records have no value: if these delete what their key had, the stream is `changes: upsert` "
            "(docs/change-streams.md)."
        )
    return remarks
