"""Compute what people read of an app: conditions, the status document, events."""
