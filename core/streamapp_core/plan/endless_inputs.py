"""The inputs without an end: an app that reads one never ends by itself."""

from streamapp_core.graph.graph import Graph
from streamapp_core.spec.systems import SystemKind


def endless_inputs(graph: Graph) -> list[str]:
    """Return the streams that operators read and that have no end; streams of unknown systems are left out."""
    spec = graph.spec
    return [
        name
        for name, stream in spec.streams.items()
        if name in graph.readers
        and not stream.bounded
        and stream.system in spec.systems
        and spec.systems[stream.system].kind is not SystemKind.FILE
    ]
