"""The graph of an app: operators with resolved names, its checks, and the walks over it (docs/planner.md)."""

from streamapp_core.graph.build_graph import build_graph
from streamapp_core.graph.check_graph import check_graph
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.graph.walks import feeding_streams, reaching_streams

__all__ = ["Graph", "Operator", "build_graph", "check_graph", "feeding_streams", "reaching_streams"]
