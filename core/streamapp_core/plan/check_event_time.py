"""Event time, followed through the graph: windows and joins need it (docs/windows-and-joins.md)."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.systems import SystemKind

_MEASURED = (OperatorKind.JOIN, OperatorKind.WINDOW)


def check_event_time(graph: Graph) -> Iterator[Problem]:
    """Find windows and joins that a stream without event times reaches.

    Records of Kafka and of the log have a timestamp; rows of files have an event time only if a column gives it.
    """
    lacking: dict[str, str] = {}  # stream or operator -> the stream it lacks event times because of
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if system is not None and system.kind is SystemKind.FILE and stream.event_time is None:
            lacking[name] = name
    for name, operator in graph.operators.items():
        cause = next((lacking[input_] for input_ in operator.inputs if input_ in lacking), None)
        if cause is None or cause in graph.opaque:
            continue
        if operator.kind not in _MEASURED:
            lacking[name] = cause
            continue
        yield Problem(
            path=operator.path(operator.kind),
            code=ProblemCode.EVENT_TIME_MISSING,
            message=f"`{name}` compares event times, and the rows of `{cause}` come from files, which have none; "
            f"name the column with the event time in `spec.streams.{cause}.eventTime`",
        )
