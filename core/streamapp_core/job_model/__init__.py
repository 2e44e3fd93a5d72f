"""The job model: partitions by task, tasks by processor, as one versioned document (docs/host-affinity.md)."""
