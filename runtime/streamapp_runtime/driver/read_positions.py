"""Where a run begins to read its streams, and where bounded ones end: taken once, when the run first has a stream."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from types import MappingProxyType

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.streams import StartFrom, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import by_system, descriptor, descriptor_at
from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.registry import Systems

_RECORDS, _SECONDS = 10_000, 1.0
"""How many records are fetched at once, and how long for, to find the first one of a time."""
Positions = dict[str, dict[int, int]]
"""Offsets by stream and partition."""


def bounded_end_offsets(
    plan: Plan, systems: Systems, known: Mapping[str, dict[int, int]], versions: Mapping[str, str]
) -> Positions:
    """Return the end offsets of the bounded streams that are read, by stream and partition: now, if not `known`.

    Those of tables and folders that are read whole are the ends of `versions`. A stream that does not exist yet, since
    the app creates it, is empty.

    Raises:
        VersionGone: one of these versions is there no more.
        RuntimeFailure: a partition has no such end as the spec says.
        StreamSystemError: a system can't be asked.
    """
    roles = (StreamRole.INPUT, StreamRole.SIDE_INPUT)
    bounded = [stream for stream in plan.streams.values() if stream.role in roles and _bounded(stream)]
    new = [stream for stream in bounded if stream.name not in known]
    ends: Positions = {stream.name: dict.fromkeys(range(stream.partitions), 0) for stream in new}
    for name, found in _ends(new, plan, systems, versions).items():
        ends[name] |= found
    for stream, spec in _declared(new):
        time = spec.ending_timestamp
        named = _named(stream, spec.ending_offsets, "endingOffsets", ends[stream.name], plan=plan, systems=systems)
        ends[stream.name] |= _no_later({} if time is None else _at(time, stream, plan, systems), ends[stream.name])
        ends[stream.name] |= named
    return ends | {stream.name: known[stream.name] for stream in bounded if stream.name in known}


def start_offsets(
    plan: Plan, systems: Systems, known: Mapping[str, dict[int, int]], ends: Mapping[str, dict[int, int]]
) -> Positions:
    """Return the offsets at which a run starts to read its inputs; partitions that are absent start at their oldest.

    The `known` offsets of an input stay as they are, so new partitions are read from their beginning. A new input with
    `startFrom: latest` starts at its current end, and one with a time or with offsets there, bounded ones not behind
    their `ends`.

    Raises:
        RuntimeFailure: a partition can't be read from where the spec says.
        StreamSystemError: a system can't be asked.
    """
    inputs = [stream for stream in plan.streams.values() if stream.role is StreamRole.INPUT]
    new = [stream for stream in inputs if stream.name not in known]
    late = [stream for stream, spec in _declared(new) if spec.start_from is StartFrom.LATEST]
    found = _ends(late, plan, systems)
    for stream, spec in _declared(new):
        if spec.starts_in_the_middle:
            found[stream.name] = _starts(stream, spec, plan, systems, ends.get(stream.name))
    return {stream.name: {**found, **known}.get(stream.name, {}) for stream in inputs}


def _starts(
    stream: PlannedStream, spec: StreamSpec, plan: Plan, systems: Systems, ends: Mapping[int, int] | None
) -> dict[int, int]:
    last = _ends([stream], plan, systems).get(stream.name, {}) if ends is None else ends
    at = {}
    if spec.starting_timestamp is not None:
        at = _no_later(_at(spec.starting_timestamp, stream, plan, systems), last)
    return at | _named(stream, spec.starting_offsets, "startingOffsets", last, plan=plan, systems=systems)


def _named(
    stream: PlannedStream,
    offsets: Mapping[str, int],
    field: str,
    ends: Mapping[int, int],
    *,
    plan: Plan,
    systems: Systems,
) -> dict[int, int]:
    """Return offsets of the spec as they are, if the partitions hold them.

    Raises:
        RuntimeFailure: one does not.
    """
    if not offsets:
        return {}
    oldest = _oldest(stream, plan, systems)
    for name, offset in offsets.items():
        partition, where = int(name), f"spec.streams.{stream.name}.{field}"
        if partition not in ends:
            count = f"{stream.partitions}, and the first is 0" if ends else "none: it does not exist yet"
            raise RuntimeFailure(f"{where}: {stream.address} has no partition {partition}; it has {count}")
        if not oldest.get(partition, 0) <= offset <= ends[partition]:
            raise RuntimeFailure(
                f"{where}: partition {partition} of {stream.address} can't be read from or to offset {offset}: its "
                f"oldest record has {oldest.get(partition, 0)}, and it ends at {ends[partition]}. Name an offset from "
                "the one to the other, or leave the partition out"
            )
    return {int(name): offset for name, offset in offsets.items()}


def _no_later(offsets: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, int]:
    """Return offsets that lie before the ends, which were looked up at another moment."""
    return {partition: min(offset, ends[partition]) for partition, offset in offsets.items() if partition in ends}


def _at(time: int, stream: PlannedStream, plan: Plan, systems: Systems) -> dict[int, int]:
    """Return the offset of the first record of each partition that is not older than a time, or the partition's end."""
    described, spec = descriptor(stream), plan.app.system(stream.system)
    with closing(systems.open_transactional_admin(stream.system, spec)) as admin:
        found, ends = dict(admin.offsets_for_times([described], time)), admin.end_offsets([described])
    waiting = {ssp for ssp, offset in found.items() if offset < ends.get(ssp, 0)}
    with closing(systems.open_consumer(stream.system, spec, [described])) as consumer:
        consumer.assign({ssp: found[ssp] for ssp in waiting}, {ssp: ends[ssp] for ssp in waiting})
        while waiting:
            for batch in consumer.poll(waiting, _RECORDS, _SECONDS):
                times = enumerate(batch.messages.timestamps)
                first = next((at for at, of_record in times if of_record >= time), None)
                if first is not None or batch.ended:
                    found[batch.ssp] = ends[batch.ssp] if first is None else batch.messages[first].offset
                    waiting.discard(batch.ssp)
    return {ssp.partition: offset for ssp, offset in found.items()}


def _oldest(stream: PlannedStream, plan: Plan, systems: Systems) -> dict[int, int]:
    with closing(systems.open_admin(stream.system, plan.app.system(stream.system))) as admin:
        return {ssp.partition: offset for ssp, offset in admin.start_offsets([descriptor(stream)]).items()}


def _ends(
    asked: Iterable[PlannedStream], plan: Plan, systems: Systems, versions: Mapping[str, str] = MappingProxyType({})
) -> Positions:
    ends: Positions = {}
    for system, streams in by_system(descriptor_at(stream, versions) for stream in asked).items():
        with closing(systems.open_admin(system, plan.app.system(system))) as admin:
            for ssp, end in admin.end_offsets(streams).items():
                ends.setdefault(ssp.stream, {})[ssp.partition] = end
    return ends


def _declared(streams: Iterable[PlannedStream]) -> Iterator[tuple[PlannedStream, StreamSpec]]:
    return ((stream, stream.spec) for stream in streams if stream.spec is not None)


def _bounded(stream: PlannedStream) -> bool:
    """Return whether an end is known: of files, and if the spec says so; streams of other apps end by a message."""
    if stream.shared:
        return False
    return stream.system_kind is SystemKind.FILE or (stream.spec is not None and stream.spec.bounded)
