"""The runtime of a StreamApp: driver, processors, tasks, operators and their state."""
