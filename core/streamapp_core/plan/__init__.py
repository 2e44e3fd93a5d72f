"""The planner: from a spec to a plan, or to every reason why there can be none (docs/planner.md)."""

from streamapp_core.plan.plan import (
    CountRule,
    JoinGroup,
    Mode,
    Plan,
    PlannedOperator,
    PlannedStream,
    PlannedTable,
    PlanResult,
    StreamRole,
)
from streamapp_core.plan.planner import plan

__all__ = [
    "CountRule",
    "JoinGroup",
    "Mode",
    "Plan",
    "PlanResult",
    "PlannedOperator",
    "PlannedStream",
    "PlannedTable",
    "StreamRole",
    "plan",
]
