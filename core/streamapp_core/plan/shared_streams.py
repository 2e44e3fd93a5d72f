"""Intermediate streams with names of their own, which other apps read: each must be one stream's name only."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.delivery import default_system
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import OperatorKind


def check_shared_streams(graph: Graph) -> Iterator[Problem]:
    """Find names that two streams of the app would share in their system, and control messages asked of files."""
    spec = graph.spec
    default = default_system(spec)
    taken = {s.name or name: f"stream `{name}`" for name, s in spec.streams.items() if s.system == default}
    for operator in sorted(graph.of_kinds(OperatorKind.PARTITION_BY), key=lambda operator: operator.index):
        name = operator.shared_stream
        if name is None:
            continue
        if name in taken:
            yield Problem(
                path=operator.path("partitionBy", "stream"),
                code=ProblemCode.DUPLICATE_NAME,
                message=f"`{name}` is the name of {taken[name]}, too; give that of `{operator.name}` a name of its own "
                "(inside the app it is read by the operator's name)",
            )
        taken.setdefault(name, f"the intermediate stream of `{operator.name}`")
    for name, stream in spec.streams.items():
        system = spec.systems.get(stream.system)
        if stream.control_messages and system is not None and system.kind.holds_files:
            yield Problem(
                path=f"spec.streams.{name}.controlMessages",
                code=ProblemCode.INVALID_SPEC,
                message=f"`{name}` is a folder, and an intermediate stream never is; leave `controlMessages` out",
            )
