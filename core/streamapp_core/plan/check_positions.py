"""Where streams are read from and to: what can't begin or end there."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.graph.walks import streams_that_fill_tables
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import StartFrom, StreamSpec
from streamapp_core.spec.systems import SystemKind

_STARTS = {"startingTimestamp": "a time", "startingOffsets": "offsets"}
_ENDS = {"endingTimestamp": "a time", "endingOffsets": "offsets"}


def check_positions(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> Iterator[Problem]:
    """Find beginnings and ends of a stream that it can't have."""
    yield from _check_latest(graph, name, stream, kind)
    given = {
        "startingTimestamp": stream.starting_timestamp is not None,
        "startingOffsets": bool(stream.starting_offsets),
        "endingTimestamp": stream.ending_timestamp is not None,
        "endingOffsets": bool(stream.ending_offsets),
    }
    starts, ends = [field for field in _STARTS if given[field]], [field for field in _ENDS if given[field]]
    if not starts and not ends:
        return
    if (why := _no_positions(graph, name, stream, kind)) is not None:
        for field in (*starts, *ends):
            yield superfluous_option(name, (field,), f"`{name}` has no {field}: {why}")
        return
    whole = _whole(graph, name, stream)
    for field in starts:
        if whole is not None:
            yield superfluous_option(name, (field,), f"`{name}` is read from its beginning: {whole}")
        elif stream.start_from is StartFrom.LATEST:
            message = f"`{name}` begins at its end (`startFrom: latest`), or at {_STARTS[field]}, but not at both"
            yield superfluous_option(name, (field,), message)
    for field in ends:
        if not stream.bounded:
            yield _not_bounded(name, field)
    yield from _check_order(name, stream)


def _whole(graph: Graph, name: str, stream: StreamSpec) -> str | None:
    """Return why a stream that is read can't begin at a time or at offsets; None if it can."""
    if name in graph.side_inputs:
        return "it is a side input"
    if stream.changes.is_read:
        return "its records replace earlier ones, without which what they change would be missing"
    if name in streams_that_fill_tables(graph):
        return "it fills a table (`sendToTable`), which would lack what came before"
    return None


def _no_positions(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> str | None:
    """Return why a stream has neither a time nor offsets to end at, or is not read at all; None if it may have."""
    if name in graph.senders:
        return "it is written"
    if kind.transactional:
        return "another app begins and ends it" if stream.control_messages else None
    if kind.holds_tables:
        return "it is a table, which begins at a version (`startingVersion`)"
    return "files are read as a whole; leave out those that are not to be read"


def _check_latest(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> Iterator[Problem]:
    if stream.start_from is not StartFrom.LATEST:
        return
    if name in graph.side_inputs:
        why = "it is a side input"
    elif stream.bounded or kind is SystemKind.FILE:
        why = "it is bounded"
    elif stream.control_messages:
        why = "it is an intermediate stream of another app"
    else:
        return
    yield Problem(
        path=f"spec.streams.{name}.startFrom",
        code=ProblemCode.NOT_SUPPORTED,
        message=f"`{name}` is read from its beginning (`earliest`): {why}",
        repair=_set(name, "startFrom", "replace", StartFrom.EARLIEST.value),
    )


def _not_bounded(name: str, field: str) -> Problem:
    return Problem(
        path=f"spec.streams.{name}.{field}",
        code=ProblemCode.NOT_SUPPORTED,
        message=f"`{name}` has no end, so it can't end at {_ENDS[field]}",
        repair=_set(name, "bounded", "add", value=True),
    )


def _set(name: str, field: str, op: str, value: str | bool) -> Repair:
    edit = Edit(op=op, pointer=f"/spec/streams/{name}/{field}", value=value)
    return Repair(text=f"set `spec.streams.{name}.{field}` to `{str(value).lower()}`", edits=(edit,))


def _check_order(name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find ends that are before the beginnings beside them."""
    begin, end = stream.starting_timestamp, stream.ending_timestamp
    if begin is not None and end is not None and end < begin:
        yield _reversed(name, "endingTimestamp", "its end is before its beginning (`startingTimestamp`)")
    for partition, offset in stream.ending_offsets.items():
        if offset < stream.starting_offsets.get(partition, 0):
            why = f"partition {partition} ends before offset {offset} and begins at a later one (`startingOffsets`)"
            yield _reversed(name, "endingOffsets", why)


def _reversed(name: str, field: str, why: str) -> Problem:
    return Problem(
        path=f"spec.streams.{name}.{field}",
        code=ProblemCode.NOT_SUPPORTED,
        message=f"nothing of `{name}` would be read: {why}; change one of them",
    )
