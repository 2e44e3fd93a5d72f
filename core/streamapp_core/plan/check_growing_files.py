"""Streams whose files become more while the app runs: what such a stream can't be."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.streams import StreamSpec


def check_growing_files(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what a stream over files that become more can't do: be written, or have an end."""
    path = f"spec.streams.{name}"
    if name in graph.senders:
        yield Problem(
            path=f"{path}.system",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` is written, and `{stream.system}` is a folder that is only read: part files are the "
            "outputs of a system `file`",
        )
    if stream.bounded:
        yield Problem(
            path=f"{path}.bounded",
            code=ProblemCode.NOT_SUPPORTED,
            message=f"`{name}` has no end, since new files may come; a system `file` reads the files that there are at "
            "the start",
            repair=Repair(
                text=f"remove `{path}.bounded`", edits=(Edit(op="remove", pointer=f"/spec/streams/{name}/bounded"),)
            ),
        )
