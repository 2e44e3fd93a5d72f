"""Agreements between the Kubernetes operator and the driver: names, and the documents they exchange."""
