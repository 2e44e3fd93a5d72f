"""Kubernetes clusters for tests and demos: `make cluster`."""
