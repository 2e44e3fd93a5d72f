"""Samples of declared streams: some of their records, decoded as the app reads or writes them (`streamapp peek`)."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.systems import SystemKind
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT, descriptor, output_descriptor
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.registered_schemas import RegistrySchemas, with_written_schema
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_runtime.rows.message_formats import message_decoder
from streamapp_runtime.rows.message_rows import MessageDecoder
from streamapp_systems.protocols import BadRecord, FetchedBatch
from streamapp_systems.registry import Systems

_POLL_SECONDS = 1.0
_OFFSETS = 2
"""How many offsets are read for a record: in Kafka each transaction takes one for its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRecord:
    """A record of a stream.

    `row` is its row as a JSON object, None if it has none: it `deleted` its key, or is `unreadable` for this reason,
    then with its `value` as it is. `timestamp` (milliseconds) and `key` are those of a message; files have none.
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
    reader = _Reader(plan, stream, systems, ends, rows)
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
    if stream.role is StreamRole.OUTPUT and stream.system_kind.holds_files:
        table = stream.system_kind is SystemKind.DELTA
        there = f"a table of Delta: any tool reads it, {stream.address} in system {stream.system}"
        files = f"files: any tool reads them in the folder {stream.address}"
        raise RuntimeFailure(f"{name} is written to {there if table else files}")
    return stream


def _nothing_there(stream: PlannedStream, partition: int | None, partitions: int) -> str:
    if stream.system_kind.grows and not partitions:
        return f"{stream.name} has no journal yet, which counts its rows: the first run that reads it begins one"
    if partition is None or not partitions:
        return f"{stream.name} does not exist yet"
    return f"{stream.name} has no partition {partition}: it has {partitions}, and the first is 0"


class _Reader:
    """Reads records of partitions up to their ends: the last `rows` of each, or the first from an offset on."""

    def __init__(self, plan: Plan, stream: PlannedStream, systems: Systems, ends: Mapping[Ssp, int], rows: int) -> None:
        spec = plan.app.system(stream.system)
        self._open = partial(systems.open_consumer, stream.system, spec, [descriptor(stream)])
        self._decoder = _decoder(plan, stream, systems)
        self._ends = ends
        self._bounded = not stream.system_kind.grows
        self._rows = rows

    def first(self, starts: Mapping[Ssp, int], least: int) -> dict[Ssp, Sequence[SampledRecord]]:
        """Read from `starts` on until there are enough records with the offset `least` or a later one."""
        found: dict[Ssp, list[SampledRecord]] = {ssp: [] for ssp in starts}
        for ssp, record in self._read(starts, lambda ssp: len(found[ssp]) < self._rows):
            if record.offset >= least and len(found[ssp]) < self._rows:
                found[ssp].append(record)
        return {**found}

    def last(self, firsts: Mapping[Ssp, int]) -> dict[Ssp, Sequence[SampledRecord]]:
        """Read the last records, from further ahead where other things have most of the last offsets."""
        found: dict[Ssp, Sequence[SampledRecord]] = {}
        missing, offsets = set(firsts), _OFFSETS * self._rows
        while missing:
            starts = {ssp: max(firsts[ssp], self._ends[ssp] - offsets) for ssp in missing}
            kept = {ssp: deque[SampledRecord](maxlen=self._rows) for ssp in missing}
            for ssp, record in self._read(starts, lambda _: True):
                kept[ssp].append(record)
            found |= kept
            missing = {ssp for ssp in missing if len(kept[ssp]) < self._rows and starts[ssp] > firsts[ssp]}
            offsets *= _OFFSETS
        return found

    def _read(self, starts: Mapping[Ssp, int], wanted: Callable[[Ssp], bool]) -> Iterator[tuple[Ssp, SampledRecord]]:
        """Read partitions to their ends, or until no more of them is wanted."""
        unread = {ssp for ssp, start in starts.items() if start < self._ends[ssp]}
        if not unread:
            return
        with closing(self._open()) as consumer:
            ends = {ssp: self._ends[ssp] for ssp in unread}
            consumer.assign({ssp: starts[ssp] for ssp in unread}, ends if self._bounded else {})
            while unread:
                try:
                    fetched = consumer.poll(sorted(unread), self._rows, _POLL_SECONDS)
                except BadRecord as bad:
                    fetched = []
                    yield bad.ssp, SampledRecord(partition=bad.ssp.partition, offset=bad.offset, unreadable=bad.reason)
                for batch in fetched:
                    found = _of_messages(batch, self._decoder) if batch.rows is None else _of_rows(batch, batch.rows)
                    yield from ((batch.ssp, record) for record in found)
                ended = {batch.ssp for batch in fetched if batch.ended or batch.next_offset >= ends[batch.ssp]}
                unread = {ssp for ssp in unread - ended if wanted(ssp)}


def _decoder(plan: Plan, stream: PlannedStream, systems: Systems) -> MessageDecoder | None:
    """Return the decoder of a stream's messages; None if they have no one schema, or are rows already."""
    output = stream.role is StreamRole.OUTPUT
    schema = output_descriptor(stream).schema if output else stream.schema
    if schema is None or not stream.system_kind.transactional:
        return None
    system = plan.app.system(stream.system)
    alone = output and system.schema_registry is None
    registry = RegistrySchemas(partial(systems.open_schema_registry, stream.system, system))
    return message_decoder(schema, with_written_schema(stream) if alone else stream.spec, (), registry)


def _of_rows(batch: FetchedBatch, rows: pa.RecordBatch) -> Iterator[SampledRecord]:
    for offset, row in enumerate(encode_json(pa.Table.from_batches([rows])), batch.offset):
        yield SampledRecord(partition=batch.ssp.partition, offset=offset, row=row)


def _of_messages(batch: FetchedBatch, decoder: MessageDecoder | None) -> Iterator[SampledRecord]:
    """Decode the messages of a batch, in the order of their offsets."""
    rows: dict[int, bytes | None] = {message.offset: message.value for message in batch.messages}
    unreadable: dict[int, str] = {}
    deleted = {message.offset for message in batch.messages if message.value is None}
    if decoder is not None and len(batch.messages):
        decoded = decoder.decode(batch.messages, batch.ssp)
        offsets = [message.offset for message in decoded.messages]
        rows = dict(zip(offsets, encode_json(decoded.rows), strict=True))
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
