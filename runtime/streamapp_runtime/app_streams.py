"""The streams of an app as its systems describe them: addresses, partition counts, offsets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamapp_core.naming import CHANGELOG, DEAD_LETTERS, dead_letter_stream_address, run_stream_address
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.supported_features import FILE_FORMATS
from streamapp_core.schema import STRING, Column, Schema
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.job import OnError
from streamapp_core.spec.streams import (
    CHANGE_COLUMN,
    CsvOptions,
    JsonOptions,
    StreamChanges,
    StreamFormat,
    StreamSpec,
)
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_systems.file import FileAdmin, FileStat, take_file_stats
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner, WholeVersion
from streamapp_systems.registry import Systems

FIRST_REQUEST_TIMEOUT = 10.0
"""Seconds for the first request to a system: a person waits for the outcome."""


def descriptor(stream: PlannedStream) -> StreamDescriptor:
    """Describe a planned stream to its system."""
    return StreamDescriptor(
        name=stream.name,
        system=stream.system,
        address=stream.address,
        format=stream.format,
        schema=stream.schema,
        whole=_whole(stream.spec, stream.system_kind, stream.partitions),
        csv=CsvOptions() if stream.spec is None else stream.spec.csv,
        json=JsonOptions() if stream.spec is None else stream.spec.json_options,
        folder_columns=() if stream.spec is None else stream.spec.folder_columns,
        starting_version=None if stream.spec is None else stream.spec.starting_version,
        change_key=_change_key(stream.spec, stream.schema),
        time_zone=stream.time_zone,
    )


def descriptor_at(stream: PlannedStream, versions: Mapping[str, str]) -> StreamDescriptor:
    """Describe a planned stream to its system, with the version that is read of it if it is read whole."""
    described = descriptor(stream)
    if described.whole is None or stream.name not in versions:
        return described
    return replace(described, whole=replace(described.whole, version=versions[stream.name]))


def output_descriptor(stream: PlannedStream) -> StreamDescriptor:
    """Describe a planned output with the columns that are written."""
    described = descriptor(stream)
    if stream.spec is None or stream.schema is None:
        return described
    if stream.system_kind.replaces_rows and stream.spec.changes is StreamChanges.APPEND:
        key = (column.name for column in map(stream.schema.get, stream.key) if column is not None)
        return replace(described, key=tuple(key))
    if stream.spec.changes is not StreamChanges.LOG:
        return described
    return replace(described, schema=Schema((*stream.schema.columns, Column(CHANGE_COLUMN, STRING))))


def declared_descriptor(name: str, spec: StreamSpec, system: SystemSpec) -> StreamDescriptor:
    """Describe a declared stream to its system, as far as its existence and its offsets are concerned."""
    return StreamDescriptor(
        name=name,
        system=spec.system,
        address=spec.name or name,
        format=spec.format,
        csv=spec.csv,
        folder_columns=spec.folder_columns,
        whole=_whole(spec, system.kind, spec.partitions or 1),
        starting_version=spec.starting_version,
        change_key=_change_key(spec, None),
    )


def _whole(spec: StreamSpec | None, kind: SystemKind, partitions: int) -> WholeVersion | None:
    """Return what is read of a stream that would grow if it were not bounded."""
    return WholeVersion(partitions) if kind.has_versions and spec is not None and spec.bounded else None


def _change_key(spec: StreamSpec | None, schema: Schema | None) -> tuple[str, ...]:
    """Return the columns by which the rows of a stream replace each other, as its schema writes them."""
    if spec is None or spec.changes is not StreamChanges.UPSERT or spec.key is None:
        return ()
    columns = [None if schema is None else schema.get(name) for name in spec.key_columns]
    return tuple(n if c is None else c.name for n, c in zip(spec.key_columns, columns, strict=True))


def changelog_stream(plan: Plan) -> StreamDescriptor:
    """Describe the changelog of a run: a partition per task, in the default system, beside the intermediate streams."""
    return changelog_of(plan.app, plan.run_id, plan.default_system)


def changelog_of(app: StreamApp, run_id: str, system: str) -> StreamDescriptor:
    """Describe the changelog of a run whose plan is not at hand."""
    address = run_stream_address(app.name_prefix, run_id, CHANGELOG)
    return StreamDescriptor(name=CHANGELOG, system=system, address=address, format=StreamFormat.JSON, keyed=True)


def dead_letter_stream(plan: Plan) -> StreamDescriptor | None:
    """Describe the stream of records that can't be read, which outlives runs; None if the app keeps none."""
    if plan.app.spec.job.on_error is not OnError.DEAD_LETTER:
        return None
    address = dead_letter_stream_address(plan.app.name_prefix)
    return StreamDescriptor(name=DEAD_LETTERS, system=plan.default_system, address=address, format=StreamFormat.JSON)


def transaction_owner(plan: Plan, processor: str, epoch: int) -> TransactionOwner:
    """Return the identity a processor writes under: one id per run and processor, fenced by later epochs."""
    return TransactionOwner(id=plan.transactional_prefix + processor, epoch=epoch)


def by_system(streams: Iterable[StreamDescriptor]) -> Mapping[str, list[StreamDescriptor]]:
    """Group streams by their systems."""
    grouped: dict[str, list[StreamDescriptor]] = defaultdict(list)
    for stream in streams:
        grouped[stream.system].append(stream)
    return grouped


def count_partitions(app: StreamApp, systems: Systems) -> dict[str, int]:
    """Ask the systems how many partitions the declared streams have; what does not exist is absent.

    Streams of unknown systems, files of formats that files don't have, and what a store of objects has without a
    journal are left out: the planner reports them. So are file outputs: what earlier runs wrote says nothing about this
    one.

    Raises:
        StreamSystemError: a system can't be asked.
    """
    written = {operator.send_to for operator in app.spec.operators}
    declared = [
        declared_descriptor(name, spec, app.spec.systems[spec.system])
        for name, spec in app.spec.streams.items()
        if spec.system in app.spec.systems and _is_asked(app.spec.systems[spec.system], spec, written=name in written)
    ]
    counts: dict[str, int] = {}
    for system, streams in by_system(declared).items():
        admin = systems.open_admin(system, app.system(system), timeout=FIRST_REQUEST_TIMEOUT)
        try:
            counts |= admin.partitions(streams)
        finally:
            admin.close()
    return counts


def _is_asked(system: SystemSpec, stream: StreamSpec, *, written: bool) -> bool:
    has_format = system.tables is not None or stream.format in FILE_FORMATS
    found = system.kind.holds_files and not written and has_format and (stream.bounded or not _lacks_journal(system))
    return system.kind.transactional or found


def _lacks_journal(system: SystemSpec) -> bool:
    return system.growing is not None and system.growing.journal is None and system.url is not None


def file_names(plan: Plan, systems: Systems) -> dict[str, list[str]]:
    """Return the files that are read, by stream and in the order of its partitions."""
    return {
        stream.name: FileAdmin(systems.folder / system.path).names(descriptor(stream))
        for stream in plan.streams.values()
        if stream.role in (StreamRole.INPUT, StreamRole.SIDE_INPUT)
        and (system := plan.app.spec.systems[stream.system].file) is not None
    }


def input_file_stats(plan: Plan, systems: Systems) -> dict[str, tuple[FileStat, ...]]:
    """Return the files of inputs as they are now, by stream and in the order of its partitions.

    Raises:
        StreamSystemError: a file is gone.
    """
    return {
        stream.name: take_file_stats(systems.folder / system.path, descriptor(stream))
        for stream in plan.streams.values()
        if stream.role is StreamRole.INPUT and (system := plan.app.spec.systems[stream.system].file) is not None
    }
