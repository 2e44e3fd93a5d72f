"""The state of a task: named stores in one environment, committed in one transaction."""
