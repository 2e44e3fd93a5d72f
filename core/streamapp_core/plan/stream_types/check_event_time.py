"""Windows and joins measure event time, so the rows they read must have one (docs/planner.md)."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import OperatorKind

_MEASURED = (OperatorKind.JOIN, OperatorKind.WINDOW)


def check_event_time(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find windows and joins that rows without event times reach.

    Records of Kafka and of the log have a timestamp; rows of files have an event time only if a column gives it.
    """
    for name, operator in graph.operators.items():
        if operator.kind not in _MEASURED:
            continue
        causes = (types[input_].undated_by for input_ in operator.inputs if input_ in types)
        cause = next((cause for cause in causes if cause is not None), None)
        if cause is not None and cause not in graph.opaque:
            yield Problem(
                path=operator.path(operator.kind),
                code=ProblemCode.EVENT_TIME_MISSING,
                message=f"`{name}` compares event times, and the rows of `{cause}` come from files, which have none; "
                f"name the column that tells when a row happened in `spec.streams.{cause}.eventTime`",
            )
