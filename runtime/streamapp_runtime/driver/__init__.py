"""The driver of an app: prepares a run, starts its processors, watches them, and ends it."""
