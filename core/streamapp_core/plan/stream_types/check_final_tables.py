"""Outputs that hold a table as it is at the end (`changes: final`): changes lead to it, and there is an end."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.endless_inputs import endless_inputs
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import StreamChanges
from streamapp_core.spec.systems import SystemKind


def check_final_tables(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find outputs with `changes: final` that are no folder, or whose rows never end or are events."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if stream.changes is not StreamChanges.FINAL or name in graph.opaque or system is None:
            continue
        for reason in _reasons(graph, name, system.kind, types):
            path = f"spec.streams.{name}.changes"
            yield Problem(
                path=path,
                code=ProblemCode.NOT_SUPPORTED,
                message=reason,
                repair=Repair(
                    text=f"remove `{path}`", edits=(Edit(op="remove", pointer=f"/spec/streams/{name}/changes"),)
                ),
            )


def _reasons(graph: Graph, name: str, kind: SystemKind, types: Mapping[str, StreamType]) -> Iterator[str]:
    senders = graph.senders.get(name, ())
    if not senders:
        yield f"`final` is for what the app writes, and it reads `{name}`"
        return
    if kind is not SystemKind.FILE:
        yield f"`{name}` is no folder: what it holds already can't be taken back, and its readers follow its changes"
    endless = endless_inputs(graph)
    if endless:
        yield (
            f"the table is written at the end, and {' and '.join(f'`{other}`' for other in endless)} has none: without "
            f"`bounded: true` there, `{name}` has its changes"
        )
    if len(senders) > 1:
        sent = " and ".join(f"`{sender.name}`" for sender in senders)
        yield f"{sent} write to `{name}`, and rows of both may have the same key"
    for sender in senders:
        type_ = types.get(sender.inputs[0])
        if type_ is not None and not type_.unknown and not isinstance(type_.changes, Upsert):
            yield f"the rows of `{sender.inputs[0]}` are events, which stay: there is nothing to wait for"
