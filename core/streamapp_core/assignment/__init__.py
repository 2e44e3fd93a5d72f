"""Assignment: which processor runs which task, and why tasks moved (design, section 6)."""

from streamapp_core.assignment.assign import Assignment, assign
from streamapp_core.assignment.task_moves import Move, moves
from streamapp_core.assignment.task_origins import ANY_LOCATION

__all__ = ["ANY_LOCATION", "Assignment", "Move", "assign", "moves"]
