"""The status of an app as people read it: conditions, the status document, events."""
