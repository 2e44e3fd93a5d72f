"""The connections of a processor to its systems: consumers, producer, admin clients and file outputs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from types import MappingProxyType

import pyarrow as pa

from streamapp_core.adjunct.recovery import Extent
from streamapp_core.plan.check_avro_keys import key_columns_of
from streamapp_core.plan.columns_read import unread_columns
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import KeyFormat, StreamChanges
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_core.storage_urls import parse_storage_url
from streamapp_runtime.app_streams import (
    by_system,
    changelog_stream,
    dead_letter_stream,
    descriptor,
    descriptor_at,
    output_descriptor,
)
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.processor.decoding_input_source import DecodingInputSource
from streamapp_runtime.registered_key_schemas import first_key_schema, key_headers, keys_have_one_schema
from streamapp_runtime.registered_schemas import RegistrySchemas, output_headers
from streamapp_runtime.rows.avro_keys import AvroKeys
from streamapp_runtime.rows.hidden_columns import hidden_fields
from streamapp_runtime.rows.keyed_changes import Deletions, KeyedChanges
from streamapp_runtime.rows.keyed_rows import KeyedRows
from streamapp_runtime.rows.message_formats import message_decoder
from streamapp_runtime.rows.message_rows import MessageDecoder
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.rows.tombstones import DeletionKey, KeyColumn, KeyObject
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.writing.output_writer import OutputHeaders
from streamapp_systems.arrow_types import arrow_schema, arrow_type
from streamapp_systems.kafka import SchemaRegistryClient
from streamapp_systems.protocols import (
    Consumer,
    OutputPlace,
    PartOwner,
    Producer,
    RecordLimits,
    StagedOutput,
    StreamDescriptor,
    StreamSystemError,
    TransactionalAdmin,
    TransactionOwner,
)
from streamapp_systems.registry import Systems


class Connections:
    """The systems of an app, opened for one processor; `handles` closes what was opened, the last first."""

    def __init__(
        self, plan: Plan, systems: Systems, handles: ExitStack, versions: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Open nothing yet; `versions` are those of the streams that are read whole."""
        self._plan = plan
        self._versions = versions
        self._systems = systems
        self._handles = handles
        self._admins: dict[str, TransactionalAdmin] = {}
        self.consumers: Mapping[str, Consumer] = {}
        """The consumers of the inputs, by system, once these are open."""

    def inputs(
        self,
        starts: Mapping[Ssp, int],
        ends: Mapping[str, Mapping[int, int]],
        claims: ClaimChecker,
        later_starts: Mapping[Ssp, Collection[int]],
    ) -> DecodingInputSource:
        """Open the consumers of these partitions, from the start offsets to the ends, where there are any.

        Batches are split at the offsets in `later_starts`.

        Raises:
            VersionGone: a version is there no more.
            StreamSystemError: a system can't be asked, or what is to be read next was deleted.
        """
        self._check_later_starts(starts, later_starts)
        streams = [self._plan.streams[name] for name in sorted({ssp.stream for ssp in starts})]
        consumers: dict[str, Consumer] = {}
        for system, descriptors in by_system(map(self._read, streams)).items():
            consumer = self._systems.open_consumer(system, self._plan.app.system(system), descriptors)
            self._handles.callback(consumer.close)
            here = {ssp: start for ssp, start in sorted(starts.items()) if ssp.system == system}
            consumer.assign(here, {ssp: ends[ssp.stream][ssp.partition] for ssp in here if ssp.stream in ends})
            consumers[system] = consumer
        self.consumers = consumers
        return DecodingInputSource(
            consumers,
            intermediate=self.intermediate_schemas(),
            shared=self._message_schemas(StreamRole.INPUT, StreamRole.SIDE_INPUT),
            external={
                stream.name: self._decoder(stream, stream.schema)
                for stream in streams
                if not _has_messages(stream) and stream.schema is not None
            },
            event_times=self._event_time_columns(),
            on_error=self._plan.app.spec.job.on_error,
            dead_letters=self._with_dead_letters(),
            claims=claims,
            later_starts=later_starts,
        )

    def extents(self, ssps: Collection[Ssp], ends: Mapping[str, Mapping[int, int]]) -> dict[Ssp, Extent]:
        """Return the offsets that these partitions hold now, up to `ends` where there are any.

        Raises:
            StreamSystemError: a system does not answer.
        """
        starts: dict[Ssp, int] = {}
        present: dict[Ssp, int] = {}
        streams = sorted({ssp.stream for ssp in ssps})
        for system, descriptors in by_system(self._read(self._plan.streams[name]) for name in streams).items():
            with closing(self._systems.open_admin(system, self._plan.app.system(system))) as admin:
                starts |= admin.start_offsets(descriptors)
                present |= admin.end_offsets([stream for stream in descriptors if stream.name not in ends])
        bounds = {ssp: ends[ssp.stream][ssp.partition] for ssp in ssps if ssp.stream in ends}
        return {ssp: Extent(oldest=starts.get(ssp, 0), end=bounds.get(ssp, present.get(ssp, 0))) for ssp in ssps}

    def _read(self, stream: PlannedStream) -> StreamDescriptor:
        return descriptor_at(stream, self._versions)

    def _check_later_starts(self, starts: Mapping[Ssp, int], later_starts: Mapping[Ssp, Collection[int]]) -> None:
        """Check what a consumer can't know that begins for one task with the oldest record: that the others miss none.

        Raises:
            StreamSystemError: they do.
        """
        from_oldest = {ssp for ssp in later_starts if not starts[ssp]}
        for ssp, extent in self.extents(from_oldest, {}).items():
            behind = min(later_starts[ssp])
            if extent.oldest > behind:
                raise StreamSystemError(
                    f"{ssp}: reading is to go on at offset {behind}, but the oldest record there is "
                    f"that of {extent.oldest}: records were deleted before they were read. Begin a new run"
                )

    def producer(self, owner: TransactionOwner, confirm_current: Callable[[], object]) -> Producer:
        """Open the producer of all streams in the default system; see `open_producer`."""
        system = self._plan.default_system
        written = (StreamRole.INTERMEDIATE, StreamRole.OUTPUT)
        planned = [s for s in self._plan.streams.values() if s.role in written and s.system == system]
        dead_letters = dead_letter_stream(self._plan)
        own = [changelog_stream(self._plan), *(() if dead_letters is None else (dead_letters,))]
        streams = [*map(descriptor, planned), *own]
        spec = self._plan.app.system(system)
        producer = self._systems.open_producer(system, spec, streams, owner, confirm_current=confirm_current)
        self._handles.callback(producer.close)
        return producer

    def output_headers(self) -> OutputHeaders:
        """Return what values and keys of outputs whose schemas are registered begin with.

        Raises:
            StreamSystemError: a registry does not answer, or has no such schema.
        """
        return OutputHeaders(
            values=output_headers(self._plan, self._systems), keys=key_headers(self._plan, self._systems)
        )

    def _registry(self, system: str) -> SchemaRegistryClient:
        return self._systems.open_schema_registry(system, self._plan.app.system(system))

    def record_limits(self) -> Mapping[str, RecordLimits]:
        """Return the limits of the records of the outputs that are streams, as they are now."""
        system = self._plan.default_system
        written = [s for s in self._plan.streams.values() if s.role is StreamRole.OUTPUT and s.system == system]
        with closing(self._systems.open_transactional_admin(system, self._plan.app.system(system))) as admin:
            return admin.record_limits([descriptor(stream) for stream in written])

    def written_offsets(self, streams: Collection[str]) -> Mapping[Ssp, int]:
        """Return the ends of input streams now; see `TransactionalAdmin.written_offsets`."""
        offsets: dict[Ssp, int] = {}
        for system, descriptors in by_system(descriptor(self._plan.streams[name]) for name in sorted(streams)).items():
            if system not in self._admins:
                self._admins[system] = self._systems.open_transactional_admin(system, self._plan.app.system(system))
                self._handles.callback(self._admins[system].close)
            offsets |= self._admins[system].written_offsets(descriptors)
        return offsets

    @contextmanager
    def changelog(self, partition: int) -> Iterator[ChangelogPartitionReader]:
        """Open a reader of one partition of the changelog, and close it after the block."""
        system, stream = self._plan.default_system, changelog_stream(self._plan)
        spec = self._plan.app.system(system)
        with (
            closing(self._systems.open_transactional_admin(system, spec)) as admin,
            closing(self._systems.open_consumer(system, spec, [stream])) as consumer,
        ):
            yield ChangelogPartitionReader(admin, consumer, stream, partition)

    def outputs(self, owner: PartOwner) -> dict[str, StagedOutput]:
        """Open the outputs that are files, or tables of any kind, by system."""
        planned = [s for s in self._plan.streams.values() if s.role is StreamRole.OUTPUT]
        files = [stream for stream in planned if not stream.system_kind.transactional]
        return {
            system: self._open_output(system, self._plan.app.system(system), descriptors, owner)
            for system, descriptors in by_system(map(output_descriptor, files)).items()
        }

    def place(self, system: str) -> OutputPlace:
        """Return the place of the outputs of a system that has files or tables."""
        spec = self._plan.app.spec.systems[system]
        assert spec.storage is not None
        return OutputPlace(spec.kind, spec.storage)

    def output_at(self, place: OutputPlace, owner: PartOwner) -> StagedOutput:
        """Open what publishes the parts that were staged at a place, where the app need not have outputs any more.

        The app's system of that path says how it is reached, if there is one.

        Raises:
            StreamSystemError: there is none, and the path alone does not say how the place is reached.
        """
        systems = self._plan.app.spec.systems
        name = next((n for n, system in systems.items() if system.stages_outputs and self.place(n) == place), None)
        if name is not None:
            return self._open_output(name, systems[name], [], owner)
        named = (SystemKind.ICEBERG, SystemKind.POSTGRESQL, SystemKind.SPARK)
        if place.kind in named or parse_storage_url(place.folder) is not None:
            raise StreamSystemError(
                f"{place.folder} has rows that wait to be published, and no system of the app has this path any "
                "more: put the system back, with its `store`, `catalog` or `secretName`, until the app has started "
                "once, or begin a new run"
            )
        system = SystemSpec.model_validate({place.kind: {"path": place.folder}})
        return self._open_output(place.kind, system, [], owner)

    def intermediate_schemas(self) -> Mapping[str, pa.Schema]:
        """Return the columns of this app's intermediate streams, followed by the hidden ones."""
        return self._message_schemas(StreamRole.INTERMEDIATE)

    def _open_output(
        self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor], owner: PartOwner
    ) -> StagedOutput:
        output = self._systems.open_output(name, system, streams, owner)
        self._handles.callback(output.close)
        return output

    def _message_schemas(self, *roles: StreamRole) -> dict[str, pa.Schema]:
        """Return the columns of intermediate streams, this app's or other apps', followed by the hidden ones."""
        return {
            stream.name: pa.schema([*arrow_schema(stream.schema), *self._hidden_fields(stream)])
            for stream in self._plan.streams.values()
            if stream.role in roles and _has_messages(stream) and stream.schema is not None
        }

    def _hidden_fields(self, stream: PlannedStream) -> Sequence[pa.Field]:
        operator = self._plan.operators.get(stream.name)
        return hidden_fields(stream.type if operator is None else operator.type)

    def _decoder(self, stream: PlannedStream, schema: Schema) -> MessageDecoder:
        """Return the decoder of a stream's messages; in side inputs and changes those without a value delete."""
        decoder = message_decoder(
            schema,
            stream.spec,
            unread_columns(self._plan, stream.name),
            self._schemas_of(stream),
            stream.time_zone,
        )
        if stream.spec is not None and stream.spec.changes is StreamChanges.DEBEZIUM:
            return decoder
        tables = [table for table in self._plan.tables.values() if stream.name in table.spec.side_inputs]
        if stream.spec is not None and stream.key_format is KeyFormat.AVRO:
            of_key = key_columns_of(schema, stream.spec).columns
            one_schema = keys_have_one_schema(self._plan, stream)
            first = first_key_schema(stream, self._registry(stream.system)) if one_schema else None
            keys = AvroKeys(of_key, self._schemas_of(stream), one_schema=one_schema, first=first)
            deletes = bool(tables) or isinstance(stream.type.changes, Upsert)
            return KeyedRows(decoder, keys, arrow_schema(schema), deletes=deletes)
        sources = [part.source_column for part in tables[0].key] if tables else []
        filled_by = [source for source in sources if source is not None]
        key = _deletion_key(stream, schema, stream.key or (filled_by if len(filled_by) == len(sources) else ()))
        if isinstance(stream.type.changes, Upsert) and key is not None:
            columns = tuple(column.name for column in map(schema.get, stream.key) if column is not None)
            return KeyedChanges(decoder, RecordKey(columns, stream.key_fields, stream.key_format), key)
        return Deletions(decoder, key) if tables else decoder

    def _schemas_of(self, stream: PlannedStream) -> RegistrySchemas:
        """Return the schemas that the records of a stream name."""
        return RegistrySchemas(partial(self._registry, stream.system))

    def _with_dead_letters(self) -> frozenset[str]:
        """Return the streams whose unreadable records are kept: those of which one task reads each partition."""
        if dead_letter_stream(self._plan) is None:
            return frozenset()
        return frozenset(s.name for s in self._plan.streams.values() if s.role is StreamRole.INPUT and not s.broadcast)

    def _event_time_columns(self) -> dict[str, tuple[str, ...]]:
        specs = {stream.name: stream.spec for stream in self._plan.streams.values()}
        return {
            name: spec.event_time.columns if spec.event_time is not None else ()
            for name, spec in specs.items()
            if spec is not None
        }


def _has_messages(stream: PlannedStream) -> bool:
    """Return whether a stream holds messages of an intermediate stream, control messages among them."""
    return stream.role is StreamRole.INTERMEDIATE or stream.shared


def _deletion_key(stream: PlannedStream, schema: Schema, key: Sequence[str]) -> DeletionKey | None:
    if stream.spec is None or not key:
        return None
    found = [schema.get(name) for name in key]
    fields = [
        pa.field(stream.spec.json_options.field_of(column.name), arrow_type(column.type))
        for column in found
        if column is not None
    ]
    if len(fields) < len(key):
        return None
    return KeyColumn(fields[0], stream.key_format) if len(key) == 1 else KeyObject(tuple(f.name for f in fields))
