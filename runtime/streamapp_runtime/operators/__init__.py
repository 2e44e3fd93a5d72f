"""The operators of a task: each takes batches of rows and emits batches of rows."""
