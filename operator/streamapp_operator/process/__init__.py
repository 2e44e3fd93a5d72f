"""The operator's process: start-up, the work queue and its loop, health, metrics, logs."""
