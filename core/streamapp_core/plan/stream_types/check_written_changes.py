"""Outputs that say how changes are written: the table as it is at the end (`final`), or their history (`log`)."""

from collections.abc import Callable, Iterator, Mapping

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.endless_inputs import endless_inputs
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import CHANGE_COLUMN, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind


def check_written_changes(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find outputs that can't have a table at the end, or a history of changes, or whose rows don't change."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        reasons = _REASONS.get(stream.changes)
        if reasons is None or name in graph.opaque or system is None:
            continue
        for reason in _no_changes(graph, name, stream, types) or reasons(graph, name, stream, system.kind):
            path = f"spec.streams.{name}.changes"
            yield Problem(
                path=path,
                code=ProblemCode.NOT_SUPPORTED,
                message=reason,
                repair=Repair(
                    text=f"remove `{path}`", edits=(Edit(op="remove", pointer=f"/spec/streams/{name}/changes"),)
                ),
            )


def _no_changes(graph: Graph, name: str, stream: StreamSpec, types: Mapping[str, StreamType]) -> list[str]:
    senders = graph.senders.get(name, ())
    if not senders:
        return [f"`{stream.changes}` is for what the app writes, and it reads `{name}`"]
    sent = [(sender.inputs[0], types.get(sender.inputs[0])) for sender in senders]
    return [
        f"the rows of `{source}` are events, which stay: they are no changes"
        for source, type_ in sent
        if type_ is not None and not type_.unknown and not isinstance(type_.changes, Upsert)
    ]


def _no_table(graph: Graph, name: str, _: StreamSpec, kind: SystemKind) -> Iterator[str]:
    if kind.replaces_rows:
        yield f"table `{name}` has the newest row of each key while the app runs, and at its end: nothing need say so"
        return
    if not kind.holds_files:
        yield f"`{name}` is no folder: what it holds already can't be taken back, and its readers follow its changes"
    endless = endless_inputs(graph)
    if endless:
        yield (
            f"the table is written at the end, and {' and '.join(f'`{other}`' for other in endless)} has none: without "
            f"`bounded: true` there, `{name}` has its changes"
        )
    senders = graph.senders[name]
    if len(senders) > 1:
        sent = " and ".join(f"`{sender.name}`" for sender in senders)
        yield f"{sent} write to `{name}`, and rows of both may have the same key"


def _no_history(_: Graph, name: str, stream: StreamSpec, kind: SystemKind) -> Iterator[str]:
    if not kind.holds_files and stream.format is not StreamFormat.JSON:
        yield f"values of `{name}` are {stream.format}, and `{CHANGE_COLUMN}`, the history's column, is one of JSON"


_REASONS: Mapping[StreamChanges, Callable[[Graph, str, StreamSpec, SystemKind], Iterator[str]]] = {
    StreamChanges.FINAL: _no_table,
    StreamChanges.LOG: _no_history,
}
"""Why an output can't be written so, though its rows change."""
