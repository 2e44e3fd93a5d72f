"""Samples of declared streams: some of their records, decoded as the app reads or writes them (`streamapp peek`)."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT, descriptor, output_descriptor
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.record_reader import RecordReader
from streamapp_runtime.registered_schemas import RegistrySchemas, with_written_schema
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_runtime.rows.message_formats import message_decoder
from streamapp_runtime.rows.message_rows import MessageDecoder
from streamapp_systems.protocols import BadRecord, FetchedBatch
from streamapp_systems.registry import Systems


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRecord:
    """A record of a stream.

    `row` is its row as a JSON object, None if it has none: a message that `deleted` its key, or what is `unreadable`
    for this reason, then with its `value` as it is. `timestamp` (milliseconds) and `key` are those of a message; files
    have none, so a row that is `deleted` there has its key.
    """

    partition: int
    offset: int
    timestamp: int | None = None
    key: bytes | None = None
    row: bytes | None = None
    deleted: bool = False
    unreadable: str | None = None
    value: bytes | None = None


def sample_stream(
    plan: Plan, name: str, systems: Systems, *, rows: int, partition: int | None = None, offset: int | None = None
) -> Sequence[SampledRecord]:
    """Read so many records of each partition of a stream, or of one: those from an offset on, else the last ones.

    Of files these are the first ones: a file is read from its beginning. Nothing is changed, and no reader disturbed.

    Raises:
        RuntimeFailure: there is no such stream or partition, or other tools read it.
        StreamSystemError: its system can't be read.
    """
    stream = _declared(plan, name)
    described, spec = descriptor(stream), plan.app.system(stream.system)
    with closing(systems.open_admin(stream.system, spec, timeout=FIRST_REQUEST_TIMEOUT)) as admin:
        firsts, ends = admin.start_offsets([described]), admin.end_offsets([described])
    asked = sorted(ssp for ssp in ends if partition in (None, ssp.partition))
    if not asked:
        raise RuntimeFailure(_nothing_there(stream, partition, len(ends)))
    decoder = stream_decoder(plan, stream, systems)
    reader = RecordReader(
        partial(systems.open_consumer, stream.system, spec, [described]),
        lambda fetched: _records(fetched, decoder),
        ends=ends,
        rows=rows,
        bounded=described.whole is not None or not stream.system_kind.grows,
    )
    if stream.system_kind is SystemKind.FILE:
        found = reader.first(dict.fromkeys(asked, 0), offset or 0)
    elif offset is not None:
        found = reader.first({ssp: max(firsts.get(ssp, 0), offset) for ssp in asked}, offset)
    else:
        found = reader.last({ssp: firsts.get(ssp, 0) for ssp in asked})
    return tuple(chain.from_iterable(found[ssp] for ssp in asked))


def _declared(plan: Plan, name: str) -> PlannedStream:
    stream = plan.streams.get(name)
    if stream is None or stream.spec is None:
        declared = ", ".join(known for known, found in plan.streams.items() if found.spec is not None)
        raise RuntimeFailure(f"{plan.app.metadata.name} has no stream {name}; it has {declared}")
    if stream.shared:
        raise RuntimeFailure(f"{name} is an intermediate stream of another app: its records are no rows of one format")
    kind = stream.system_kind
    if stream.role is StreamRole.OUTPUT and not kind.transactional:
        table = not kind.holds_files or kind.holds_tables
        title = "PostgreSQL" if kind is SystemKind.POSTGRESQL else kind.capitalize()
        there = f"a table of {title}: any tool reads it, {stream.address} in system {stream.system}"
        files = f"files: any tool reads them in the folder {stream.address}"
        raise RuntimeFailure(f"{name} is written to {there if table else files}")
    return stream


def _nothing_there(stream: PlannedStream, partition: int | None, partitions: int) -> str:
    if stream.system_kind.grows and not partitions:
        return f"{stream.name} has no journal yet, which counts its rows: the first run that reads it begins one"
    if partition is None or not partitions:
        return f"{stream.name} does not exist yet"
    return f"{stream.name} has no partition {partition}: it has {partitions}, and the first is 0"


def stream_decoder(plan: Plan, stream: PlannedStream, systems: Systems) -> MessageDecoder | None:
    """Return the decoder of a stream's messages; None if they have no one schema, or are rows already."""
    output = stream.role is StreamRole.OUTPUT
    schema = output_descriptor(stream).schema if output else stream.schema
    if schema is None or not stream.system_kind.transactional:
        return None
    system = plan.app.system(stream.system)
    alone = output and system.schema_registry is None
    registry = RegistrySchemas(partial(systems.open_schema_registry, stream.system, system))
    return message_decoder(
        schema, with_written_schema(stream) if alone else stream.spec, (), registry, stream.time_zone
    )


def _records(fetched: FetchedBatch | BadRecord, decoder: MessageDecoder | None) -> Iterator[SampledRecord]:
    if isinstance(fetched, BadRecord):
        place = fetched.ssp.partition
        return iter([SampledRecord(partition=place, offset=fetched.offset, unreadable=fetched.reason)])
    return _of_messages(fetched, decoder) if fetched.rows is None else _of_rows(fetched, fetched.rows)


def _of_rows(batch: FetchedBatch, rows: pa.RecordBatch) -> Iterator[SampledRecord]:
    place, table = batch.ssp.partition, pa.Table.from_batches([rows])
    changes: list[str | None] = ["u"] * len(table)
    if CHANGE_COLUMN in table.column_names:
        changes = table.column(CHANGE_COLUMN).to_pylist()
        table = table.drop_columns([CHANGE_COLUMN])
    for offset, (row, change) in enumerate(zip(encode_json(table).to_pylist(), changes, strict=True), batch.offset):
        if change is not None:
            yield SampledRecord(partition=place, offset=offset, row=row, deleted=change == "d")


def _of_messages(batch: FetchedBatch, decoder: MessageDecoder | None) -> Iterator[SampledRecord]:
    """Decode the messages of a batch, in the order of their offsets."""
    rows: dict[int, bytes | None] = {message.offset: message.value for message in batch.messages}
    unreadable: dict[int, str] = {}
    deleted = {message.offset for message in batch.messages if message.value is None}
    if decoder is not None and len(batch.messages):
        decoded = decoder.decode(batch.messages, batch.ssp)
        offsets = [message.offset for message in decoded.messages]
        rows = dict(zip(offsets, encode_json(decoded.rows).to_pylist(), strict=True))
        unreadable = {bad.offset: bad.reason for bad in decoded.bad}
        if decoded.deleted is not None:
            deleted |= {offsets[at] for at in np.flatnonzero(decoded.deleted)}
    for message in batch.messages:
        offset = message.offset
        yield SampledRecord(
            partition=batch.ssp.partition,
            offset=offset,
            timestamp=message.timestamp,
            key=message.key,
            row=None if offset in deleted else rows.get(offset),
            deleted=offset in deleted,
            unreadable=unreadable.get(offset),
            value=message.value if offset in unreadable else None,
        )
