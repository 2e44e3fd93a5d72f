"""Apps written in Python: typed calls that make the same resource as YAML (docs/python-api.md)."""

from streamapp_api.planned_app import PlannedApp
from streamapp_api.python_app import App, System
from streamapp_api.stream_calls import Stream, Table

__all__ = ["App", "PlannedApp", "Stream", "System", "Table"]
