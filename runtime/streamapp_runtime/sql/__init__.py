"""Evaluates checked expressions on Arrow batches with DuckDB."""
