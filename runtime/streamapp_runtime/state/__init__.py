"""The state of tasks: stores, their changelogs, checkpoints, and the restore from a changelog."""
