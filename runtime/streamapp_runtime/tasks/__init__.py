"""Tasks: the unit of state and order."""
