"""Rows: Arrow tables with a hidden event time, as bytes on streams, as keys and values in state."""
