"""Warnings about expressions that are allowed and rarely meant: texts that are compared with numbers or times."""

from collections.abc import Iterator

from streamapp_core.expressions import Aggregation, Condition, OverFrames, Select
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import PathPart, PlanWarning, WarningCode
from streamapp_core.spec.operators import OperatorKind

_PLACES: dict[OperatorKind, tuple[PathPart, ...]] = {
    OperatorKind.JOIN: ("join", "condition"),
    OperatorKind.WINDOW: ("window", "select"),
    OperatorKind.AGGREGATE: ("aggregate", "select"),
    OperatorKind.OVER: ("over", "select"),
}
"""Where the text is of which the remarks are; of other kinds it is all of the operator."""
_Noted = (Condition, Select, Aggregation)


def find_compared_texts(graph: Graph, rows: RowFlow) -> Iterator[PlanWarning]:
    """Find the comparisons of texts with what they may not be: these are null then, and no row passes by null."""
    for name, compiled in rows.compiled.items():
        noted = compiled.aggregation if isinstance(compiled, OverFrames) else compiled
        if isinstance(noted, _Noted) and noted.remarks:
            operator = graph.operators[name]
            path = operator.path(*_PLACES.get(operator.kind, (operator.kind,)))
            for remark in noted.remarks:
                yield PlanWarning(
                    path=path, code=WarningCode.COMPARED_AS_NULL, message=remark.message, repair=remark.repair
                )
