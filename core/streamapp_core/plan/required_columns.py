"""Columns that a spec names and that must be there."""

from collections.abc import Sequence

from streamapp_core.graph.graph import Operator
from streamapp_core.plan.joined_columns import missing_column
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import Schema


def require_columns(
    collector: ProblemCollector, operator: Operator, columns: Sequence[str], schema: Schema, *field: str, side: int = 0
) -> bool:
    """Return whether an input has all columns; else the problems, at a field of the operator, go to the collector."""
    messages = [missing_column(column, schema, operator.inputs[side]) for column in columns]
    missing = [message for message in messages if message is not None]
    for message in missing:
        collector.add(operator.path(*field), ProblemCode.UNKNOWN_COLUMN, message)
    return not missing
