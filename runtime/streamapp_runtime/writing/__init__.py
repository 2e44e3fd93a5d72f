"""The writers of tasks: rows are buffered per stream and partition, and sent with the commit."""
