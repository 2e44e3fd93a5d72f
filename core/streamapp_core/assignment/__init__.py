"""Assignment: the processor of each task, and the reasons for moves of tasks (docs/host-affinity.md)."""

from streamapp_core.assignment.assign import Assignment, assign
from streamapp_core.assignment.task_moves import Move, explain_moves
from streamapp_core.assignment.task_origins import ANY_LOCATION

__all__ = ["ANY_LOCATION", "Assignment", "Move", "assign", "explain_moves"]
