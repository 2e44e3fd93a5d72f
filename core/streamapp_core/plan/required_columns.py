"""Columns that a spec names and that must be there."""

from streamapp_core.graph.graph import Operator
from streamapp_core.plan.joined_columns import missing_column
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import Schema


def require_column(
    collector: ProblemCollector, operator: Operator, column: str, schema: Schema, *field: str, side: int = 0
) -> bool:
    """Return whether an input has a column; else the problem, at a field of the operator, goes to the collector."""
    missing = missing_column(column, schema, operator.inputs[side])
    if missing is not None:
        collector.add(operator.path(*field), ProblemCode.UNKNOWN_COLUMN, missing)
    return missing is None
