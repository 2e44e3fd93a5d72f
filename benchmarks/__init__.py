"""Measurements of what must be fast: `python -m benchmarks [name ...]`. Not part of the tests."""
