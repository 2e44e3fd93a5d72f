"""Windows, joins and functions in event-time order need rows that have an event time (docs/planner.md)."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.groups import WindowTime
from streamapp_core.spec.operators import OperatorKind, ProcessOrder

_MEASURED = (OperatorKind.JOIN, OperatorKind.WINDOW)


def check_event_time(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find windows, joins and functions in event-time order that rows without event times reach.

    Records of Kafka and of the log have a timestamp; rows of files have an event time only if a column gives it.
    """
    for operator in graph.of_kinds(*_MEASURED, OperatorKind.PROCESS):
        process, join = operator.spec.process, operator.spec.join
        window = operator.spec.window
        if join is not None and join.within is None:
            continue
        if window is not None and window.time is WindowTime.PROCESSING:
            continue
        if operator.kind in _MEASURED:
            path, need = operator.path(operator.kind), "compares event times"
        elif process is not None and process.order is ProcessOrder.EVENT_TIME:
            path, need = operator.path("process", "order"), "takes rows in the order of event times"
        else:
            continue
        otherwise = "" if window is None else ", or take `time: processing` for the window"
        cause = _undated_by(operator, types)
        if cause is not None and cause not in graph.opaque:
            yield Problem(
                path=path,
                code=ProblemCode.EVENT_TIME_MISSING,
                message=f"`{operator.name}` {need}, and the rows of `{cause}` come from files, which have none; "
                f"name the column that tells when a row happened in `spec.streams.{cause}.eventTime`{otherwise}",
            )


def process_order(operator: Operator, types: Mapping[str, StreamType]) -> ProcessOrder | None:
    """Return the order of a function with state: by event time, unless it or its rows say otherwise; else None."""
    process = operator.spec.process
    if process is None or process.state is None:
        return None
    default = ProcessOrder.EVENT_TIME if _undated_by(operator, types) is None else ProcessOrder.ARRIVAL
    return process.order or default


def _undated_by(operator: Operator, types: Mapping[str, StreamType]) -> str | None:
    causes = (types[input_].undated_by for input_ in operator.inputs if input_ in types)
    return next((cause for cause in causes if cause is not None), None)
