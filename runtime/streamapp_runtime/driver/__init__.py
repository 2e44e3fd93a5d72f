"""The driver of an app: starts a run and its processors, replaces those that fail, and completes it."""
