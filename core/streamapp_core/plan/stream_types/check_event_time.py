"""Windows, joins, state that ends and functions in event-time order need event times (docs/planner.md)."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.groups import WindowTime
from streamapp_core.spec.operators import OperatorKind, ProcessOrder

_MEASURED = (
    OperatorKind.JOIN,
    OperatorKind.WINDOW,
    OperatorKind.AGGREGATE,
    OperatorKind.TOP_N,
    OperatorKind.DEDUP,
    OperatorKind.SORTED,
    OperatorKind.OVER,
)


def check_event_time(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find operators that go by event time, and that rows without one reach.

    Records of Kafka and of the log have a timestamp; rows of files have an event time only if a column gives it.
    """
    for operator in graph.of_kinds(*_MEASURED, OperatorKind.PROCESS):
        found = _need(operator)
        if found is None:
            continue
        path, need = found
        otherwise = "" if operator.spec.window is None else ", or take `time: processing` for the window"
        cause = _undated_by(operator, types)
        if cause is not None and cause not in graph.opaque:
            yield Problem(
                path=path,
                code=ProblemCode.EVENT_TIME_MISSING,
                message=f"`{operator.name}` {need}, and the rows of `{cause}` come from files, which have none; "
                f"name the column that tells when a row happened in `spec.streams.{cause}.eventTime`{otherwise}",
            )


def _need(operator: Operator) -> tuple[str, str] | None:
    """Return where an operator says that it needs event times, and what for; None: it needs none."""
    spec = operator.spec
    if spec.ttl is not None:
        return operator.path(operator.kind, "ttl"), "ends its state by event times"
    if spec.process is not None and spec.process.order is ProcessOrder.EVENT_TIME:
        return operator.path("process", "order"), "takes rows in the order of event times"
    if spec.sorted is not None or (spec.over is not None and spec.over.order_by is None):
        return operator.path(operator.kind), "puts rows in the order of event times"
    if spec.join is not None and spec.join.as_of:
        return operator.path("join", "asOf"), "compares event times"
    bounded = spec.join or spec.dedup
    by_event_time = spec.window is not None and spec.window.time is not WindowTime.PROCESSING
    if by_event_time or (bounded is not None and bounded.within is not None):
        return operator.path(operator.kind), "compares event times"
    return None


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
