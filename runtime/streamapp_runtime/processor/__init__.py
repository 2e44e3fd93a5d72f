"""A processor: the loop that runs tasks (poll, operators, state, commit)."""
