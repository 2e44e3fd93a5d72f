"""Variants: JSON values with types of their own, in Spark's binary encoding; read from JSON, and written as JSON."""
