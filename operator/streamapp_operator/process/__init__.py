"""Run the Kubernetes operator: start-up, work queue and controller, health, metrics, logs, settings."""
