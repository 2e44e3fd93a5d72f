"""Streams that are read as changes: what they need, and where records can't be changes."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

_FORMATS = (StreamFormat.JSON, StreamFormat.AVRO)


def check_change_streams(graph: Graph) -> Iterator[Problem]:
    """Find streams whose `changes` nobody could follow: without a key, of files, or written by the app."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None or stream.changes is StreamChanges.APPEND:
            continue
        reason = _no_changes(graph, name, stream, system.kind)
        if reason is not None:
            path = f"spec.streams.{name}.changes"
            yield Problem(
                path=path,
                code=ProblemCode.NOT_SUPPORTED,
                message=reason,
                repair=Repair(
                    text=f"remove `{path}`", edits=(Edit(op="remove", pointer=f"/spec/streams/{name}/changes"),)
                ),
            )
        elif stream.key is None:
            yield Problem(
                path=f"spec.streams.{name}.key",
                code=ProblemCode.INVALID_SPEC,
                message=f"the records of `{name}` replace each other by their keys: name the column that these hold",
            )


def _no_changes(graph: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> str | None:
    """Return why a stream can't be read as changes; None if it can."""
    if name in graph.senders:
        return f"`{name}` is written, and what is sent to it says by itself whether its rows replace each other"
    if kind is SystemKind.FILE:
        return f"`{name}` is a folder, and only records of Kafka and of logs have a key and may be without a value"
    if stream.control_messages:
        return f"`{name}` is an intermediate stream of another app, whose rows are read as they are"
    if stream.format not in _FORMATS:
        return f"values of `{name}` are {stream.format}, one column, and a change has a key and other columns"
    return None
