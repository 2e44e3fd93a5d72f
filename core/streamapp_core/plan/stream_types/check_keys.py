"""Rows that must meet are in one task: joins need the key of both sides, groups the key of their stream.

What a function remembers of a key is a group, too (docs/planner.md).
"""

from collections.abc import Iterator, Mapping, Sequence

from streamapp_core.graph.broadcast_names import meets_everywhere
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.join_sides import Side, repair_sides, sides_of
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.stream_partitioning import Hashed, Partitioning, Unhashed, hashed_by
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.streams import Partitioner

_SAME_NAMES = (
    "give the columns of both sides the same names by a map before each `partitionBy`, as the names are in the JSON "
    "objects that are hashed"
)
_ONE_GROUP = "to group all rows, add a constant with a map (`*, 1 as one`), then a partitionBy by it, and group by it"


def check_keys(
    graph: Graph,
    rows: RowFlow,
    types: Mapping[str, StreamType],
    broadcast: frozenset[str],
    partitions: Mapping[str, int],
) -> Iterator[Problem]:
    """Find joins with a side, and groups with a stream, that are partitioned by something else.

    `partitions` are those of the declared streams that exist.
    """
    for operator in graph.meeting:
        if meets_everywhere(operator, broadcast):
            continue
        if operator.spec.join is not None:
            yield from _check_join(graph, operator, sides_of(graph, operator, rows.tables), rows, types)
        elif operator.spec.join_table is not None:
            table = operator.spec.join_table.table
            sides = sides_of(graph, operator, rows.tables)
            if len(sides) == 1 or table not in rows.tables:
                continue
            if not rows.tables[table].key:
                extracted = [s for s in sides[1:] if rows.tables[table].extracted and partitions.get(s.name) != 1]
                sides = [sides[0], *(side for side in extracted if _has_place(graph, side.name, types))]
            yield from _check_join(graph, operator, sides, rows, types)
        elif operator.spec.process is None or operator.spec.process.state is not None:
            yield from _check_group(graph, operator, operator.spec.group_columns, rows, types)


def _check_join(
    graph: Graph,
    join: Operator,
    sides: Sequence[Side],
    rows: RowFlow,
    types: Mapping[str, StreamType],
) -> Iterator[Problem]:
    apart: Sequence[Side] = [side for side in sides if _lies_apart(side, rows, types)]
    reasons = [_reason(graph, side, types[side.name]) for side in apart]
    if not apart and (found := _split_differently(sides, types)):
        apart = found
        reasons = [f"`{side.name}` is partitioned by {types[side.name].partitioning}" for side in apart]
    elif not apart:
        apart = _encoded_apart(sides, types)
        reasons = [f"the keys of `{side.name}` are {_encoding(types, side.name)}" for side in apart]
    if not apart:
        return
    otherwise = "partition them by it"
    if _named_apart(apart, sides):
        filling = sides[1:]
        apart = filling if all(side.reader is None for side in filling) else []
        otherwise = _SAME_NAMES
    repair = repair_sides(graph, apart)
    advice = otherwise if repair is None else repair.text
    yield Problem(
        path=join.path(join.kind, "on"),
        code=ProblemCode.JOIN_KEY_MISMATCH,
        message=f"`{join.name}` needs rows of one key in one task, but {' and '.join(reasons)}: {advice}",
        repair=repair,
    )


def _has_place(graph: Graph, stream: str, types: Mapping[str, StreamType]) -> bool:
    """Return whether it is known where the rows of a stream are from which an extractor makes keys.

    That it makes them of the key by which the stream is partitioned is what is supposed; of a topic without a declared
    key nothing is known, and files are in an order of their own.
    """
    system = graph.spec.systems.get(graph.spec.streams[stream].system)
    files = system is not None and system.kind.holds_files
    return files or isinstance(_partitioning(stream, types), Hashed)


def _lies_apart(side: Side, rows: RowFlow, types: Mapping[str, StreamType]) -> bool:
    key = _partitioning(side.name, types)
    if side.extracted and isinstance(key, Hashed):
        return False
    schema = rows.schemas.get(side.name)
    if key in (Unhashed.UNKNOWN, Unhashed.EVERYWHERE) or (schema is not None and not _has(schema.names, side.columns)):
        return False
    return not (isinstance(key, Hashed) and side.columns is not None and key.within(side.columns))


def _has(names: Sequence[str], columns: Sequence[str] | None) -> bool:
    return {column.lower() for column in columns or ()} <= {name.lower() for name in names}


def _split_differently(sides: Sequence[Side], types: Mapping[str, StreamType]) -> Sequence[Side]:
    """Return the sides to regroup if parts of keys stand at different places: those not by the whole key in order."""
    hashed = [
        (side, key.places(side.columns), len(side.columns))
        for side in sides
        if side.columns is not None
        and isinstance(key := _partitioning(side.name, types), Hashed)
        and key.within(side.columns)
    ]
    lengths = {len(places) for _, places, _ in hashed}
    together = [frozenset.intersection(*part) for part in zip(*(places for _, places, _ in hashed), strict=False)]
    if len(lengths) < 2 and all(together):  # noqa: PLR2004 - two different ones
        return []
    return [
        side
        for side, places, count in hashed
        if len(places) != count or not all(place in found for place, found in enumerate(places))
    ]


def _named_apart(apart: Sequence[Side], sides: Sequence[Side]) -> bool:
    """Return whether a partitionBy of these sides would not do: several columns are hashed with their names."""
    several = {side.columns for side in sides if side.columns is not None and len(side.columns) > 1}
    return len(several) > 1 and any(side.reader is not None for side in apart)


def _reason(graph: Graph, side: Side, type_: StreamType) -> str:
    wanted = "an expression" if side.columns is None else ", ".join(f"`{column}`" for column in side.columns)
    wanted = "the keys that its extractor makes" if side.extracted else wanted
    of = "" if side.fills is None else f", which fills table `{side.fills}`,"
    key = type_.partitioning
    if isinstance(key, Hashed):
        return f"`{side.name}`{of} is partitioned by {key}, not by {wanted}"
    return f"`{side.name}`{of} has no key, so it is not partitioned by {wanted}{_files(graph, type_)}"


def _files(graph: Graph, type_: StreamType) -> str:
    """Return a note about files with a `key`, which does not say that all rows of a key are in one file."""
    stream = graph.spec.streams.get(type_.partitioned_by)
    if stream is None or stream.key is None:
        return ""
    if graph.spec.systems[stream.system].kind.grows:
        return f" (rows of `{type_.partitioned_by}` are partitioned by their files, whatever its `key` is)"
    return (
        f" (the `key` of files does not say that all rows of a key are in one file; if they are in those of "
        f"`{type_.partitioned_by}`, set `spec.streams.{type_.partitioned_by}.partitioned: true`)"
    )


def _encoded_apart(sides: Sequence[Side], types: Mapping[str, StreamType]) -> Sequence[Side]:
    """Return the sides that are not partitioned as a `partitionBy` does it, if others are partitioned differently."""
    keyed = [(side, key) for side in sides if isinstance(key := _partitioning(side.name, types), Hashed)]
    if len({key.encoding for _, key in keyed}) < 2:  # noqa: PLR2004 - two different ones
        return []
    return [side for side, key in keyed if key.encoding != hashed_by(side.columns or ()).encoding] or [
        side for side, _ in keyed
    ]


def _encoding(types: Mapping[str, StreamType], name: str) -> str:
    key = _partitioning(name, types)
    assert isinstance(key, Hashed)
    if key.partitioner != Partitioner.MURMUR2:
        envelopes = key.partitioner.startswith("keys of ")
        return "objects, or records of Avro" if envelopes else "in files of an order of their own"
    if key.fields:
        return f"JSON objects of {', '.join(f'`{field}`' for field in key.fields)}"
    return f"encoded as {key.key_format}"


def _check_group(
    graph: Graph, operator: Operator, by: Sequence[str], rows: RowFlow, types: Mapping[str, StreamType]
) -> Iterator[Problem]:
    source = operator.inputs[0]
    key, schema = _partitioning(source, types), rows.schemas.get(source)
    if isinstance(key, Unhashed) and key is not Unhashed.BY_SOURCE:
        return
    if isinstance(key, Hashed) and key.within(by):
        return
    if schema is not None and not all(schema.get(column) for column in by):
        return
    repair = repair_sides(graph, [Side(name=source, columns=(by[0],), reader=operator)]) if by else None
    partitioning = f"partitioned by {key}" if isinstance(key, Hashed) else "not partitioned by a key"
    if source in types and not isinstance(key, Hashed):
        partitioning += _files(graph, types[source])
    groups = ", ".join(f"`{column}`" for column in by) or "nothing"
    advice = _ONE_GROUP if repair is None else repair.text
    place, does = (("by",), "groups by") if operator.spec.process is None else (("state", "key"), "keeps a state by")
    yield Problem(
        path=operator.path(operator.kind, *place),
        code=ProblemCode.GROUP_KEY_MISMATCH,
        message=f"`{operator.name}` {does} {groups}, but `{source}` is {partitioning}: rows of one group may be in "
        f"several tasks, and each would give its own result: {advice}",
        repair=repair,
    )


def _partitioning(name: str, types: Mapping[str, StreamType]) -> Partitioning:
    return types[name].partitioning if name in types else Unhashed.UNKNOWN
