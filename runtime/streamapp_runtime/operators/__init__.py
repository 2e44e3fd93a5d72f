"""The operators of a task: each takes batches of rows and gives out batches of rows."""
