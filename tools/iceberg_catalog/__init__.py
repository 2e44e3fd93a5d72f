"""Iceberg's own catalog with a REST API, as a process of this machine."""
